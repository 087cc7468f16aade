import { useMutation } from "@/lib/query/use-mutation";
import { useQueryClient } from "@/lib/query/use-query";
import { RotateCw, Trash2 } from "lucide-react";
import { lazy, Suspense } from "react";
import { t as common } from "@/lib/t";
import { Badge, Dot } from "@/ui/badge";
import { IconButton } from "@/ui/button";
import { toast } from "@/ui/toast";
import { deleteServer, refreshConnection } from "./api";
import { connectionsTitleId } from "./connections-title";
import { DriveLink } from "./drive-link";
import { type ServerConnection, statusTone } from "./server-connection";
import { t } from "./servers-text";
import { reloadConnections, storeLiveState } from "./use-connections";

/** Few servers want it. */
const ServerSignIn = lazy(async () => ({ default: (await import("./server-sign-in")).ServerSignIn }));

interface ConnectionRowProps {
  userId: string;
  connection: ServerConnection;
}

export function ConnectionRow({ userId, connection }: ConnectionRowProps) {
  const { name, url, status, reason } = connection;
  const remove = useRemove(userId, name);
  const refresh = useRefresh(userId, connection.id);
  const tone = statusTone(status);
  const needsSignIn = status === "needs-sign-in";
  return (
    <li className="grid grid-cols-[auto_minmax(0,1fr)_auto] items-center gap-x-3 gap-y-0.5 px-5 py-3.5">
      <Dot tone={tone} />
      <h3 className="truncate text-base font-medium">{name}</h3>
      <div className="col-start-3 row-span-2 row-start-1 flex items-center gap-1">
        <Badge tone={tone}>{status.replaceAll("-", " ")}</Badge>
        {status === "error" && (
          <IconButton
            label={t("servers.retry", { name })}
            icon={<RotateCw className={refresh.isPending ? "animate-spin" : ""} />}
            size="sm"
            disabled={refresh.isPending}
            onClick={() => refresh.mutate()}
          />
        )}
        <IconButton
          label={t("servers.remove", { name })}
          icon={<Trash2 />}
          size="sm"
          disabled={remove.isPending}
          onClick={() => remove.mutate()}
        />
      </div>
      <p className="col-start-2 row-start-2 truncate font-mono text-sm text-ink-2" title={url}>
        {url}
      </p>
      {(needsSignIn || connection.signedIn) && (
        <div className="col-start-2 col-end-4">
          <Suspense>
            <ServerSignIn key={status} connection={connection} />
          </Suspense>
        </div>
      )}
      {reason !== undefined && !needsSignIn && (
        <p className="col-start-2 col-end-4 text-sm text-err wrap-anywhere first-letter:uppercase">
          {reason}
        </p>
      )}
      {connection.usesFallback && (
        <div className="col-start-2 col-end-4 text-sm text-ink-2">
          <p>{t("servers.standIn")}</p>
          <DriveLink userId={userId} />
        </div>
      )}
    </li>
  );
}

function useRemove(userId: string, name: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => deleteServer(userId, name),
    onSuccess: async () => {
      toast({
        title: t("servers.removed.title"),
        description: t("servers.removed.text", { name }),
        tone: "ok",
      });
      await reloadConnections(client, userId);
      // The focus went away with the row.
      if (document.activeElement === document.body) document.getElementById(connectionsTitleId)?.focus();
    },
    onError: (error) => {
      console.error("Removing a connection failed:", error);
      toast({ title: common("error.title"), description: t("servers.removeFailed"), tone: "err" });
    },
  });
}

function useRefresh(userId: string, id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => refreshConnection(id),
    onSuccess: (connection) => storeLiveState(client, userId, connection),
    onError: (error) => toast({ title: common("error.title"), description: error.message, tone: "err" }),
  });
}
