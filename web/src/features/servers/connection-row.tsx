import { useMutation, useQueryClient } from "@tanstack/react-query";
import { ChevronRight, Server, Trash2 } from "lucide-react";
import { cn } from "@/lib/cn";
import { t } from "@/lib/later-texts";
import { Badge, Dot } from "@/ui/badge";
import { ConfirmButton } from "@/ui/confirm-button";
import { useFocusHandover } from "@/ui/focus";
import { ServerIcon } from "@/ui/server-icon";
import { toast } from "@/ui/toast";
import { DriveLink } from "./drive-link";
import { deleteServer } from "./queries";
import { type ServerConnection, statusTone } from "./server-connection";
import { ServerSignIn } from "./server-sign-in";
import { StatusBadge, Trouble } from "./status";
import { reloadConnections } from "./use-connections";

/** Id of the heading that labels the card; it can take the focus. */
export const connectionsTitleId = "connections-title";

/** Returns the heading of the connections, which gets the focus when the focused row disappears. */
export function connectionsTitle(): HTMLElement | null {
  return document.getElementById(connectionsTitleId);
}

interface ConnectionRowProps {
  userId: string;
  connection: ServerConnection;
  onOpen: () => void;
}

// On a phone the state is below the URL, which leaves room for the whole name.
const rowClass =
  "grid grid-cols-[auto_minmax(0,1fr)_auto_auto] gap-x-3 gap-y-0.5 px-5 py-3.5 max-phone:gap-x-2";
const dotClass = "grid h-6 items-center touch:h-11";
const statusClass =
  "self-center max-phone:col-start-2 max-phone:row-start-2 max-phone:mt-1 max-phone:justify-self-start";
const removeClass = "self-center max-phone:col-start-3 max-phone:row-start-1";

/** Placeholder of a connection that is loading, with the boxes of its row. */
export function ConnectionPlaceholder() {
  return (
    <div className={rowClass}>
      <span className={dotClass}>
        <Dot />
      </span>
      <div className="grid min-w-0 gap-0.5">
        <p className="text-base touch:min-h-11">
          <span className="inline-block h-3.5 w-2/5 rounded-sm bg-sunken align-middle" />
        </p>
        <p className="truncate font-mono text-sm">
          <span className="inline-block h-3 w-3/5 rounded-sm bg-sunken align-middle" />
        </p>
      </div>
      <Badge className={cn("w-18", statusClass)}>{null}</Badge>
      <span className={cn("size-[30px] touch:size-11", removeClass)} />
    </div>
  );
}

export function ConnectionRow({ userId, connection, onOpen }: ConnectionRowProps) {
  const { name, url, status, reason } = connection;
  const remove = useRemove(userId, name);
  const tone = statusTone(status);
  const needsSignIn = status === "needs-sign-in";
  const row = useFocusHandover<HTMLLIElement>(connectionsTitle);
  return (
    <li ref={row} className={rowClass}>
      <span className={dotClass}>
        <Dot tone={tone} />
      </span>
      {/* The button's own area reaches over the address, too. */}
      <div className="group relative grid min-w-0 gap-0.5 rounded-sm">
        <h3 className="min-w-0 text-base font-medium">
          <button
            type="button"
            aria-haspopup="dialog"
            title={t("servers.details", { name })}
            onClick={onOpen}
            className="flex max-w-full items-center gap-1.5 rounded-sm after:absolute after:inset-0 touch:min-h-11"
          >
            {connection.icons && (
              <ServerIcon connectionId={connection.id} icons={connection.icons} fallback={<Server />} />
            )}
            <span className="min-w-0 text-left wrap-anywhere">{name}</span>
            <ChevronRight
              aria-hidden="true"
              className="size-4 shrink-0 text-ink-3 transition-transform duration-150 group-hover:translate-x-0.5"
            />
          </button>
        </h3>
        <p className="truncate font-mono text-sm text-ink-2" title={url}>
          {url}
        </p>
      </div>
      <StatusBadge status={status} className={statusClass} />
      <div className={removeClass}>
        <ConfirmButton
          trigger={<Trash2 />}
          label={t("servers.remove", { name })}
          question={t("servers.remove.question", { name })}
          confirm={t("servers.remove.confirm")}
          onConfirm={() => {
            if (!remove.isPending) remove.mutate();
          }}
        />
      </div>
      {(needsSignIn || connection.signedIn) && (
        <div className="col-start-2 -col-end-1">
          <ServerSignIn key={status} connection={connection} />
        </div>
      )}
      {reason !== undefined && !needsSignIn && (
        <div className="col-start-2 -col-end-1">
          <Trouble userId={userId} connection={connection} reason={reason} />
        </div>
      )}
      {connection.usesFallback && (
        <div className="col-start-2 -col-end-1 text-sm text-ink-2">
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
    },
    onError: (error) => {
      console.error("Removing a connection failed:", error);
      toast({ title: t("error.title"), description: t("servers.removeFailed"), tone: "err" });
    },
  });
}
