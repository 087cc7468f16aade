import { ImageOff } from "lucide-react";
import { useState } from "react";
import { showInvisible } from "@/lib/show-invisible";
import { Spinner } from "@/ui/spinner";
import { type FileRef, nameOf } from "./file-ref";
import { t } from "@/lib/later-texts";
import { PictureDialog } from "./picture-dialog";
import { useFile } from "./use-file";

interface PictureProps {
  file: FileRef;
  /** Thumbnail size, for attachments of the user. */
  small?: boolean;
}

/** Image in a box of its final size, so that loading it moves nothing below. */
export function Picture({ file, small = false }: PictureProps) {
  const { src, error } = useFile(file.url);
  const [open, setOpen] = useState(false);
  const [broken, setBroken] = useState(false);
  const name = showInvisible(nameOf(file));
  const size = small ? "h-28 w-36" : "aspect-[4/3] w-full max-w-[26rem]";
  const box = `relative grid place-items-center overflow-hidden rounded-md border border-line bg-sunken print:bg-transparent ${size}`;
  if (error !== null || broken)
    return (
      <p className={`${box} gap-1 p-3 text-center text-sm text-ink-2`}>
        <ImageOff aria-hidden="true" className="size-5" />
        <span className="line-clamp-3 wrap-anywhere">{t("files.notShown", { name })}</span>
      </p>
    );
  return (
    <>
      <button
        type="button"
        aria-label={t("files.enlarge", { name })}
        disabled={src === undefined}
        onClick={() => setOpen(true)}
        className={`${box} transition-colors duration-150 enabled:hover:border-line-strong`}
      >
        {src === undefined ? (
          <Spinner />
        ) : (
          <img
            src={src}
            alt={name}
            decoding="async"
            onError={() => setBroken(true)}
            className="absolute inset-0 size-full object-contain"
          />
        )}
      </button>
      {open && src !== undefined && <PictureDialog file={file} src={src} onClose={() => setOpen(false)} />}
    </>
  );
}
