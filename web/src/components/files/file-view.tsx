import { FileChip } from "./file-chip";
import { useFileRef } from "./file-url";
import { isPicture } from "./file-ref";
import { t } from "./file-text";
import { Picture } from "./picture";
import { Sound } from "./sound";

interface FileViewProps {
  /** What names the file; it is looked at before use. */
  file: unknown;
  small?: boolean;
}

/** A file as it stands in a transcript: a picture to be seen, or a document to be saved. */
export function FileView({ file, small = false }: FileViewProps) {
  const known = useFileRef(file);
  if (!known) return <p className="text-sm text-ink-2">{t("files.gone")}</p>;
  if (known.mediaType.startsWith("audio/")) return <Sound file={known} />;
  return isPicture(known) ? <Picture file={known} small={small} /> : <FileChip file={known} />;
}
