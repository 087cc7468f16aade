import { useMutation, useQueryClient } from "@tanstack/react-query";
import { toast } from "@/ui/toast";
import { connectedToast, connectServer } from "./connect";
import type { ConnectDraft } from "./connect-draft";
import { t } from "@/lib/later-texts";
import { reloadConnections } from "./use-connections";

/** Returns the mutation that connects to a server and shows a toast with the result. */
export function useConnect(userId: string, onConnected?: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (draft: ConnectDraft) => connectServer(userId, draft),
    onSuccess: async (connected) => {
      // First the tools, then the news: a message sent in between would go without them.
      await reloadConnections(client, userId);
      toast(connectedToast(connected));
      onConnected?.();
    },
    onError: (error) => {
      const description = error.message === "" ? t("servers.failed.text") : error.message;
      toast({ title: t("servers.failed.title"), description, tone: "err" });
    },
  });
}
