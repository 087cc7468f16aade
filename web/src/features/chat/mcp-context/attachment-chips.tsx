import { useMutation, useQuery } from "@tanstack/react-query";
import { FileText, MessageSquareQuote, RotateCw, X } from "lucide-react";
import { useEffect, useState } from "react";
import { subscribeEvents } from "@/lib/events";
import { t } from "@/lib/later-texts";
import { showInvisible } from "@/lib/show-invisible";
import { IconButton } from "@/ui/button";
import { Spinner } from "@/ui/spinner";
import { toastFailure } from "@/ui/toast";
import type { DraftMcpAttachment } from "../composer/attachments";
import { AttachmentSheet } from "./attachment-sheet";
import { attachmentQuery, createAttachment, unwatchResource, watchResource } from "./queries";

interface AttachmentChipsProps {
  attachments: readonly DraftMcpAttachment[];
  /** Names of the attachments that are still loading. */
  reading: readonly string[];
  onRemove: (id: string) => void;
  onReplace: (id: string, attachment: DraftMcpAttachment) => void;
}

/** Attachments of the message in the composer. Each can be opened and removed. */
export function AttachmentChips({ attachments, reading, onRemove, onReplace }: AttachmentChipsProps) {
  return (
    <ul aria-label={t("offers.attached")} className="mb-2 flex flex-wrap gap-2">
      {attachments.map((attachment) => (
        <Chip
          key={attachment.id}
          attachment={attachment}
          onRemove={() => onRemove(attachment.id)}
          onReplace={(next) => onReplace(attachment.id, next)}
        />
      ))}
      {reading.map((name, index) => (
        // The first to load is the first to leave, and all rows look alike.
        <li
          key={index}
          className="flex min-h-9 max-w-full items-center gap-2 rounded-md border border-line px-3 text-sm text-ink-2 touch:min-h-11"
        >
          <Spinner />
          <span role="status" className="truncate">
            {t("offers.reading", { name })}
          </span>
        </li>
      ))}
    </ul>
  );
}

interface ChipProps {
  attachment: DraftMcpAttachment;
  onRemove: () => void;
  onReplace: (attachment: DraftMcpAttachment) => void;
}

function Chip({ attachment, onRemove, onReplace }: ChipProps) {
  const { id, connectionId, kind, serverName, name, title, uri } = attachment;
  const [open, setOpen] = useState(false);
  const [changed, setChanged] = useResourceChanged(connectionId, uri);
  const refresh = useMutation({
    mutationFn: () =>
      createAttachment(connectionId, {
        resource: { uri: uri ?? "", name, ...(title !== undefined && { title }) },
      }),
    onSuccess: (next) => {
      setChanged(false);
      onReplace(next);
    },
    onError: (error) => toastFailure(t("offers.refreshFailed"), error),
  });
  const Symbol = kind === "prompt" ? MessageSquareQuote : FileText;
  const shown = kind === "prompt" ? `/${name}` : (title ?? (name === "" ? uri : name)) || uri || "";

  function remove(): void {
    onRemove();
    if (uri !== undefined) unwatchResource(connectionId, uri).catch(() => undefined);
  }

  return (
    <li className="flex max-w-full flex-wrap items-center rounded-md border border-line-strong bg-paper text-sm">
      <button
        type="button"
        onClick={() => setOpen(true)}
        className="flex min-h-9 min-w-0 flex-1 items-center gap-2 rounded-md pr-1 pl-3 text-left touch:min-h-11"
      >
        <span className="sr-only">{t("offers.show")}</span>
        <Symbol aria-hidden="true" className="size-4 shrink-0 text-ink-2" />
        <span className="max-w-52 truncate font-medium">{showInvisible(shown)}</span>
        <span className="max-w-28 truncate text-ink-2">{serverName}</span>
      </button>
      {changed && (
        <span className="flex items-center gap-1 pl-2 text-warn">
          <span role="status">{t("offers.changed")}</span>
          <IconButton
            size="sm"
            label={t("offers.refresh", { name: shown })}
            icon={<RotateCw className={refresh.isPending ? "animate-spin" : ""} />}
            disabled={refresh.isPending}
            onClick={() => refresh.mutate()}
          />
        </span>
      )}
      <IconButton size="sm" label={t("offers.remove", { name: shown })} icon={<X />} onClick={remove} />
      {open && <DraftAttachmentSheet id={id} onClose={() => setOpen(false)} />}
    </li>
  );
}

/** Sheet with the content of an attachment, which is stored on the server. */
function DraftAttachmentSheet({ id, onClose }: { id: string; onClose: () => void }) {
  const { data, error } = useQuery(attachmentQuery(id));
  return <AttachmentSheet attachment={data} failed={error !== null} onClose={onClose} />;
}

/** Watch again before the server's 15 minutes per watch request are over. */
const WATCH_RENEWAL_MS = 10 * 60_000;

/** Returns true once a resource has changed since it was attached. */
function useResourceChanged(connectionId: string, uri: string | undefined) {
  const state = useState(false);
  const [, setChanged] = state;
  useEffect(() => {
    if (uri === undefined) return;
    // Without a watch the attachment just shows no changes.
    const watch = () => void watchResource(connectionId, uri).catch(() => undefined);
    watch();
    const timer = setInterval(watch, WATCH_RENEWAL_MS);
    const leave = subscribeEvents((event) => {
      if (event.type === "resource-changed" && event.connectionId === connectionId && event.uri === uri)
        setChanged(true);
    });
    return () => {
      clearInterval(timer);
      leave();
    };
  }, [connectionId, uri, setChanged]);
  return state;
}
