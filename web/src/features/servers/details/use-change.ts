import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { Connection } from "@/lib/connection";
import { t } from "@/lib/t";
import { toast } from "@/ui/toast";
import { changeConnection, type ConnectionChange } from "../api";
import { reloadConnections, storeLiveState } from "../use-connections";

/** Returns the mutation that changes a connection; `onChanged` is called after it succeeded. */
export function useChange(userId: string, id: string, onChanged?: (connection: Connection) => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (change: ConnectionChange) => changeConnection(id, change),
    onSuccess: async (connection) => {
      storeLiveState(client, userId, connection);
      onChanged?.(connection);
      await reloadConnections(client, userId);
    },
    onError: (error) => {
      toast({ title: t("error.title"), description: error.message, tone: "err" });
      void reloadConnections(client, userId);
    },
  });
}
