import { useMutation, useQueryClient } from "@tanstack/react-query";
import { t } from "@/lib/t";
import { toast } from "@/ui/toast";
import { refreshConnection } from "./api";
import { storeLiveState } from "./use-connections";

/** Returns the mutation that reconnects to a server. */
export function useReconnect(userId: string, id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => refreshConnection(id),
    onSuccess: (connection) => storeLiveState(client, userId, connection),
    onError: (error) => toast({ title: t("error.title"), description: error.message, tone: "err" }),
  });
}
