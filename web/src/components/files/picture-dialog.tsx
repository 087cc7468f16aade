import { useQueryClient } from "@tanstack/react-query";
import { Download, X } from "lucide-react";
import { useEffect, useId, useRef } from "react";
import { t } from "@/lib/later-texts";
import { showInvisible } from "@/lib/show-invisible";
import { IconButton } from "@/ui/button";
import { hostToasts, readToastHost } from "@/ui/toast";
import { type FileRef, formatSize, nameOf } from "./file-ref";
import { saveAs } from "./use-file";

interface PictureDialogProps {
  file: FileRef;
  /** Object URL of the bytes. */
  src: string;
  onClose: () => void;
}

/** Full-window image. Escape, the backdrop and the button close it. */
export function PictureDialog({ file, src, onClose }: PictureDialogProps) {
  const queries = useQueryClient();
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const around = readToastHost();
    dialog.current?.showModal();
    hostToasts(dialog.current);
    return () => hostToasts(around);
  }, []);
  const name = showInvisible(nameOf(file));
  return (
    // Clicks count only on the backdrop; the dialog handles Escape itself.
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && dialog.current.close()}
      className="m-auto max-h-[94dvh] max-w-[min(94vw,1200px)] rounded-lg border border-line bg-surface shadow-float animate-enter backdrop:bg-scrim"
    >
      <div className="grid max-h-[inherit] grid-cols-[minmax(0,1fr)] grid-rows-[auto_minmax(0,1fr)]">
        <header className="flex items-center gap-1.5 border-b border-line py-1.5 pr-2 pl-4">
          <h2 id={titleId} className="min-w-0 flex-1 truncate text-md">
            {name}
          </h2>
          <span className="shrink-0 pr-1 text-sm text-ink-2 tabular-nums">{formatSize(file.size)}</span>
          <IconButton
            label={t("files.save", { name })}
            icon={<Download />}
            size="sm"
            onClick={() => void saveAs(queries, file)}
          />
          <IconButton
            label={t("files.close")}
            icon={<X />}
            size="sm"
            onClick={() => dialog.current?.close()}
          />
        </header>
        <div className="grid min-h-0 place-items-center bg-sunken p-2">
          <img src={src} alt={name} className="max-h-[calc(94dvh-4.5rem)] max-w-full object-contain" />
        </div>
      </div>
    </dialog>
  );
}
