import { t } from "@/lib/later-texts";
import { FileChip } from "./file-chip";
import { type FileRef, isPicture, nameOf, useFileRef } from "./file-ref";
import { Picture } from "./picture";
import { useFile } from "./use-file";

interface FileViewProps {
  /** File reference, validated before use. */
  file: unknown;
  small?: boolean;
}

/** File in a transcript: an image, or a document to save. */
export function FileView({ file, small = false }: FileViewProps) {
  const known = useFileRef(file);
  if (!known) return <p className="text-sm text-ink-2">{t("files.gone")}</p>;
  if (known.mediaType.startsWith("audio/")) return <Sound file={known} />;
  return isPicture(known) ? <Picture file={known} small={small} /> : <FileChip file={known} />;
}

/** Audio player, without autoplay. */
function Sound({ file }: { file: FileRef }) {
  const { src, error } = useFile(file.url);
  if (error !== null) return <FileChip file={file} />;
  return (
    // oxlint-disable-next-line jsx-a11y/media-has-caption -- A tool's sound comes without captions.
    <audio controls aria-label={nameOf(file)} src={src} className="h-[54px] w-full" />
  );
}
