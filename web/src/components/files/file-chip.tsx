import { useQueryClient } from "@tanstack/react-query";
import { Download, File, FileText } from "lucide-react";
import { useState } from "react";
import { t } from "@/lib/later-texts";
import { showInvisible } from "@/lib/show-invisible";
import { IconButton } from "@/ui/button";
import { type FileRef, formatSize, isText, nameOf } from "./file-ref";
import { TextSheet } from "./text-sheet";
import { saveAs } from "./use-file";

/** Document: its name and size, with buttons to preview text and to save. */
export function FileChip({ file }: { file: FileRef }) {
  const queries = useQueryClient();
  const [open, setOpen] = useState(false);
  const name = showInvisible(nameOf(file));
  const face = (
    <>
      {isText(file) ? (
        <FileText aria-hidden="true" className="size-4 shrink-0 text-ink-2" />
      ) : (
        <File aria-hidden="true" className="size-4 shrink-0 text-ink-2" />
      )}
      <span className="truncate font-medium">{name}</span>
      <span className="shrink-0 text-ink-2 tabular-nums">{formatSize(file.size)}</span>
    </>
  );
  const look =
    "flex min-h-9 min-w-0 flex-1 items-center gap-2 rounded-md px-3 text-left text-sm touch:min-h-11";
  return (
    <span className="flex w-fit max-w-full items-center rounded-md border border-line bg-surface">
      {isText(file) ? (
        <button type="button" onClick={() => setOpen(true)} className={`${look} hover:bg-sunken`}>
          <span className="sr-only">{t("files.read")}</span>
          {face}
        </button>
      ) : (
        <span className={look}>{face}</span>
      )}
      <IconButton
        size="sm"
        label={t("files.save", { name })}
        icon={<Download />}
        className="print:hidden"
        onClick={() => void saveAs(queries, file)}
      />
      {open && <TextSheet file={file} onClose={() => setOpen(false)} />}
    </span>
  );
}
