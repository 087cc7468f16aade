import { FileText, MessageSquareQuote } from "lucide-react";
import { useState } from "react";
import { showInvisible } from "@/lib/show-invisible";
import { FileView } from "@/components/files/file-view";
import type { AttachmentPart, FilePart } from "../stream/message";
import { AttachmentSheet } from "./attachment-sheet";
import { t } from "@/lib/later-texts";

/** Attachments of a sent message. */
export function SentAttachments({ parts }: { parts: readonly (AttachmentPart | FilePart)[] }) {
  return (
    <ul aria-label={t("offers.attached")} className="flex max-w-[85%] flex-wrap justify-end gap-2">
      {parts.map((part) =>
        part.type === "file" ? (
          <li key={part.id} className="max-w-full">
            <FileView small file={part} />
          </li>
        ) : (
          <SentAttachment key={part.id} part={part} />
        ),
      )}
    </ul>
  );
}

function SentAttachment({ part }: { part: AttachmentPart }) {
  const [open, setOpen] = useState(false);
  const { kind, name, title, serverName, uri, content } = part;
  const Symbol = kind === "prompt" ? MessageSquareQuote : FileText;
  const shown = kind === "prompt" ? `/${name}` : title || name || uri || "";
  const look =
    "flex min-h-9 max-w-full items-center gap-2 rounded-md border border-line px-3 text-sm touch:min-h-11";
  const face = (
    <>
      <Symbol aria-hidden="true" className="size-4 shrink-0 text-ink-2" />
      <span className="truncate font-medium">{showInvisible(shown)}</span>
      <span className="max-w-28 shrink-0 truncate text-ink-2">{serverName}</span>
    </>
  );
  return (
    <li className="max-w-full">
      {content === undefined ? (
        <span className={look}>{face}</span>
      ) : (
        <button type="button" onClick={() => setOpen(true)} className={`${look} hover:bg-sunken`}>
          <span className="sr-only">{t("offers.show")}</span>
          {face}
        </button>
      )}
      {open && <AttachmentSheet attachment={content} onClose={() => setOpen(false)} />}
    </li>
  );
}
