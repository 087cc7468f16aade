import { useMutation, useQuery } from "@tanstack/react-query";
import { FileText, MessageSquareQuote, RotateCw, X } from "lucide-react";
import { useEffect, useState } from "react";
import { subscribeEvents } from "@/lib/events";
import { showInvisible } from "@/lib/show-invisible";
import { IconButton } from "@/ui/button";
import { Spinner } from "@/ui/spinner";
import { toast } from "@/ui/toast";
import type { DraftOffer } from "../composer/attachments";
import { AttachmentSheet } from "./attachment-sheet";
import { attach, loadAttachment, unwatchResource, watchResource } from "./offers";
import { t } from "./offers-text";

interface AttachmentChipsProps {
  attachments: readonly DraftOffer[];
  /** What is still being read. */
  reading: readonly string[];
  onRemove: (id: string) => void;
  onReplace: (id: string, attachment: DraftOffer) => void;
}

/** What goes with the message being written. Each can be looked at, and taken away. */
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
        // Whoever is read first leaves first, and looks like the others.
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
  attachment: DraftOffer;
  onRemove: () => void;
  onReplace: (attachment: DraftOffer) => void;
}

function Chip({ attachment, onRemove, onReplace }: ChipProps) {
  const { id, connectionId, kind, serverName, name, title, uri } = attachment;
  const [open, setOpen] = useState(false);
  const [changed, setChanged] = useChanges(connectionId, uri);
  const refresh = useMutation({
    mutationFn: () =>
      attach(connectionId, { resource: { uri: uri ?? "", name, ...(title !== undefined && { title }) } }),
    onSuccess: (next) => {
      setChanged(false);
      onReplace(next);
    },
    onError: (error) => toast({ title: t("offers.refreshFailed"), description: error.message, tone: "err" }),
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
      {open && <WaitingSheet id={id} onClose={() => setOpen(false)} />}
    </li>
  );
}

/** What an attachment holds; it is kept at the server. */
function WaitingSheet({ id, onClose }: { id: string; onClose: () => void }) {
  const { data, error } = useQuery({
    queryKey: ["attachment", id],
    queryFn: () => loadAttachment(id),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return <AttachmentSheet attachment={data} failed={error !== null} onClose={onClose} />;
}

/** The server listens for fifteen minutes after it was last asked to. */
const renewMs = 10 * 60_000;

/** Whether a resource has changed since it was attached. */
function useChanges(connectionId: string, uri: string | undefined) {
  const state = useState(false);
  const [, setChanged] = state;
  useEffect(() => {
    if (uri === undefined) return;
    // Without the server's news it simply stays as it was.
    const watch = () => void watchResource(connectionId, uri).catch(() => undefined);
    watch();
    const timer = setInterval(watch, renewMs);
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
