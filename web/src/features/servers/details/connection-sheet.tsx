import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { RotateCw } from "lucide-react";
import { t } from "@/lib/later-texts";
import { showInvisible } from "@/lib/show-invisible";
import { Dot } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Sheet } from "@/ui/sheet";
import { toastError } from "@/ui/toast";
import { connectionDetails, listToolsAgain, liveConnections } from "../queries";
import { type ServerConnection, statusTone } from "../server-connection";
import { StatusBadge, Trouble } from "../status";
import { storeLiveState, useReconnect } from "../use-connections";
import { Facts } from "./facts";
import { HeadersSection } from "./headers-section";
import { NameForm } from "./name-form";
import { Section } from "./section";
import { ToolSwitches } from "./tool-switches";

interface ConnectionSheetProps {
  userId: string;
  connection: ServerConnection;
  onClose: () => void;
}

/** Details and settings of a connection. */
export function ConnectionSheet({ userId, connection, onClose }: ConnectionSheetProps) {
  const { id, name, url, status, reason } = connection;
  const live = useQuery(liveConnections(userId)).data?.find((one) => one.id === id);
  // Each state of the connection has its own details.
  const version = `${live?.status ?? ""} ${live?.checkedAt ?? ""}`;
  const details = useQuery(connectionDetails(userId, id, version));
  const known = live ?? details.data;
  const instructions = details.data?.instructions ?? "";
  const tone = statusTone(status);
  return (
    <Sheet
      title={name}
      subtitle={<span className="font-mono">{url}</span>}
      onClose={onClose}
      footer={<ConnectionActions userId={userId} connection={connection} />}
    >
      <div className="grid grid-cols-[minmax(0,1fr)] gap-7">
        <div className="grid gap-2" role="status">
          <p className="flex items-center gap-2">
            {status === "connecting" ? (
              <RotateCw aria-hidden="true" className="size-4 animate-spin text-ink-2" />
            ) : (
              <Dot tone={tone} />
            )}
            <StatusBadge status={status} />
          </p>
          {status === "idle" && <p className="text-sm text-ink-2">{t("servers.idle.about")}</p>}
          {reason !== undefined && <Trouble userId={userId} connection={connection} reason={reason} bare />}
        </div>
        {known !== undefined && <Facts connection={known} />}
        {instructions !== "" && (
          <Section title={t("servers.instructions")} about={t("servers.instructions.about")}>
            <p
              // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- A scrolling text has to be reached.
              tabIndex={0}
              className="max-h-48 overflow-auto px-4 py-3 text-sm whitespace-pre-line text-ink-2 wrap-anywhere"
            >
              {showInvisible(instructions)}
            </p>
          </Section>
        )}
        <ToolSwitches userId={userId} connection={connection} />
        <NameForm key={name} userId={userId} connection={connection} />
        {known?.shared === true ? (
          <p className="text-sm text-ink-2">{t("servers.shared.note")}</p>
        ) : (
          <HeadersSection userId={userId} id={id} headers={details.data?.headers} />
        )}
      </div>
    </Sheet>
  );
}

interface ConnectionActionsProps {
  userId: string;
  connection: ServerConnection;
}

/** Buttons that reconnect and list the tools again. */
function ConnectionActions({ userId, connection: { id } }: ConnectionActionsProps) {
  const client = useQueryClient();
  const reconnect = useReconnect(userId, id);
  const list = useMutation({
    mutationFn: () => listToolsAgain(id),
    onSuccess: (connection) => storeLiveState(client, userId, connection),
    onError: toastError,
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
