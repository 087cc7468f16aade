import { AppWindow, FileText } from "lucide-react";
import { useId, useSyncExternalStore } from "react";
import { t } from "@/lib/later-texts";
import type { PreviewedChat } from "@/lib/open-preview";
import { showInvisible } from "@/lib/show-invisible";
import { Button } from "@/ui/button";
import { usePreviewOpener } from "./use-preview-opener";
import { blocksOfChat, fileNameOf, type Previewable, versionsOf } from "./versions";

interface PreviewCardProps {
  block: Previewable;
  chat: PreviewedChat;
}

/** Card below a code block that has a preview: the name of its file, its version, and a button that opens it. */
export function PreviewCard({ block, chat }: PreviewCardProps) {
  const open = usePreviewOpener({ type: block.kind, text: block.text });
  const nameId = useId();
  // Versions are counted again when a message comes or ends.
  useSyncExternalStore(chat.subscribe, chat.status);
  const { all, opened } = versionsOf(blocksOfChat(chat), block);
  const name = showInvisible(fileNameOf(all[opened] ?? block));
  const about = t("preview.about", {
    kind: block.kind,
    versions: all.length > 1 ? "several" : "one",
    n: opened + 1,
    total: all.length,
  });
  return (
    <div className="relative flex min-h-16 items-center gap-3 rounded-md border border-line bg-surface px-3">
      <span className="grid size-9 shrink-0 place-items-center rounded-md bg-accent-soft text-accent">
        <FileText aria-hidden="true" className="size-4" />
      </span>
      <div className="min-w-0 flex-1">
        <p id={nameId} title={name} className="truncate text-sm font-medium">
          {name}
        </p>
        <p className="text-xs text-ink-2 tabular-nums">{about}</p>
      </div>
      {/* All of the card can be pressed. */}
      <Button
        size="sm"
        title={t("preview.open")}
        aria-describedby={nameId}
        className="after:absolute after:inset-0 touch:min-w-11"
        onClick={open}
      >
        <AppWindow aria-hidden="true" className="wide:hidden" />
        <span className="max-wide:sr-only">{t("preview.open")}</span>
      </Button>
    </div>
  );
}
