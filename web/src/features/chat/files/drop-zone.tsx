import { Paperclip } from "lucide-react";
import { type RefObject, useEffect, useEffectEvent, useState } from "react";
import { createPortal } from "react-dom";
import { t } from "@/lib/later-texts";

interface DropZoneProps {
  /** The message field. While it is hidden, dropped files are ignored. */
  field: RefObject<HTMLTextAreaElement | null>;
  onFiles: (files: readonly File[]) => void;
}

const holdsFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer?.types.includes("Files") === true;

/** Accepts files that are dropped anywhere on the page while the chat is visible, and highlights the page meanwhile. */
export function DropZone({ field, onFiles }: DropZoneProps) {
  const [over, setOver] = useState(false);
  const take = useEffectEvent((event: DragEvent) => {
    const isWanted =
      holdsFiles(event) &&
      field.current?.checkVisibility() === true &&
      !document.querySelector("dialog[open]");
    if (!isWanted) return;
    // Otherwise the browser would navigate to the file.
    event.preventDefault();
    if (event.type === "dragover") return setOver(true);
    setOver(false);
    onFiles([...(event.dataTransfer?.files ?? [])]);
    field.current?.focus();
  });
  useEffect(() => {
    // Only leaving the window has no related target.
    const onLeave = (event: DragEvent) => event.relatedTarget === null && setOver(false);
    const onEvent = (event: DragEvent) => take(event);
    window.addEventListener("dragover", onEvent);
    window.addEventListener("drop", onEvent);
    window.addEventListener("dragleave", onLeave);
    return () => {
      window.removeEventListener("dragover", onEvent);
      window.removeEventListener("drop", onEvent);
      window.removeEventListener("dragleave", onLeave);
    };
  }, []);
  if (!over) return null;
  return createPortal(
    <div className="pointer-events-none fixed inset-2 z-50 grid place-items-center rounded-lg border-2 border-dashed border-accent bg-surface/90">
      <p role="status" className="grid justify-items-center gap-2 p-6 text-center">
        <Paperclip aria-hidden="true" className="size-7 text-accent" />
        <span className="text-lg font-medium">{t("files.drop")}</span>
        <span className="text-sm text-ink-2">{t("files.kinds")}</span>
      </p>
    </div>,
    document.body,
  );
}
