import { useMutation, useQueryClient } from "@tanstack/react-query";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { toast } from "@/ui/toast";
import { listToolsAgain } from "../queries";
import type { ServerConnection } from "../server-connection";
import { storeLiveState, useReconnect } from "../use-connections";

interface ConnectionActionsProps {
  userId: string;
  connection: ServerConnection;
}

/** Buttons that reconnect and list the tools again. */
export function ConnectionActions({ userId, connection: { id } }: ConnectionActionsProps) {
  const client = useQueryClient();
  const reconnect = useReconnect(userId, id);
  const list = useMutation({
    mutationFn: () => listToolsAgain(id),
    onSuccess: (connection) => storeLiveState(client, userId, connection),
    onError: (error) => toast({ title: t("error.title"), description: error.message, tone: "err" }),
  });
  const busy = reconnect.isPending || list.isPending;
  return (
    <>
      <Button disabled={busy} busy={reconnect.isPending} onClick={() => reconnect.mutate()}>
        {t("servers.reconnect")}
      </Button>
      <Button disabled={busy} busy={list.isPending} onClick={() => list.mutate()}>
        {t("servers.refreshTools")}
      </Button>
    </>
  );
}
