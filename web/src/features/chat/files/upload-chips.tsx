import { File, RotateCw, X } from "lucide-react";
import { useState } from "react";
import { type FileRef, formatSize, isPicture, isText } from "@/components/files/file-ref";
import { TextSheet } from "@/components/files/text-sheet";
import { useFile } from "@/components/files/use-file";
import { showInvisible } from "@/lib/show-invisible";
import { IconButton } from "@/ui/button";
import { Spinner } from "@/ui/spinner";
import { t } from "@/lib/later-texts";
import type { Upload } from "./use-uploads";

const CHIP =
  "flex min-h-11 max-w-full min-w-0 items-center gap-2 rounded-md border border-line-strong bg-paper pl-1.5 text-sm";
const PLACE = "grid size-9 shrink-0 place-items-center overflow-hidden rounded-[8px] bg-sunken text-ink-2";

interface AttachedFileProps {
  file: FileRef;
  onRemove: () => void;
  /** Inserts a text into the message. */
  onInsert: (text: string) => void;
}

/** File of the message in the composer: a thumbnail or an icon, its name and size. */
export function AttachedFile({ file, onRemove, onInsert }: AttachedFileProps) {
  const [open, setOpen] = useState(false);
  const name = showInvisible(file.filename ?? "");
  const face = (
    <>
      <span className={PLACE}>
        {isPicture(file) ? <Thumbnail file={file} /> : <File aria-hidden="true" className="size-4" />}
      </span>
      <NameAndSize name={name} about={formatSize(file.size)} />
    </>
  );
  return (
    <li className={CHIP}>
      {isText(file) ? (
        <button
          type="button"
          onClick={() => setOpen(true)}
          className="flex min-h-11 min-w-0 flex-1 items-center gap-2 rounded-md text-left"
        >
          <span className="sr-only">{t("files.read")}</span>
          {face}
        </button>
      ) : (
        face
      )}
      <IconButton size="sm" label={t("files.remove", { name })} icon={<X />} onClick={onRemove} />
      {open && <TextSheet file={file} onClose={() => setOpen(false)} onInsert={onInsert} />}
    </li>
  );
}

function Thumbnail({ file }: { file: FileRef }) {
  const { src } = useFile(file.url);
  return src === undefined ? <Spinner /> : <img src={src} alt="" className="size-full object-cover" />;
}

function NameAndSize({ name, about }: { name: string; about: string }) {
  return (
    <span className="grid min-w-0 grid-cols-[minmax(0,1fr)] leading-tight">
      <span className="max-w-44 truncate font-medium">{name}</span>
      <span className="text-xs text-ink-2 tabular-nums">{about}</span>
    </span>
  );
}

interface UploadChipProps {
  upload: Upload;
  onCancel: () => void;
  onRetry: () => void;
}

/** Upload in progress, or the reason why it failed. */
export function UploadChip({ upload, onCancel, onRetry }: UploadChipProps) {
  const { file, share, error } = upload;
  const name = showInvisible(file.name);
  const percent = Math.round(share * 100);
  return (
    <li className={`${CHIP} ${error === undefined ? "" : "border-err"}`}>
      <span className={PLACE}>
        {error === undefined ? <Spinner /> : <File aria-hidden="true" className="size-4" />}
      </span>
      {error === undefined ? (
        <span className="grid min-w-0 gap-1">
          <span className="max-w-44 truncate font-medium">{name}</span>
          <progress
            aria-label={t("files.sending", { name })}
            value={percent}
            max={100}
            className="h-1 w-full min-w-24 accent-accent"
          />
        </span>
      ) : (
        <span role="alert" className="grid min-w-0 grid-cols-[minmax(0,1fr)] py-1 leading-tight">
          <span className="truncate font-medium">{name}</span>
          <span className="text-xs wrap-anywhere text-err">{t("files.failed", { reason: error })}</span>
        </span>
      )}
      <span className="flex shrink-0">
        {error !== undefined && (
          <IconButton size="sm" label={t("files.retry", { name })} icon={<RotateCw />} onClick={onRetry} />
        )}
        <IconButton size="sm" label={t("files.remove", { name })} icon={<X />} onClick={onCancel} />
      </span>
    </li>
  );
}
