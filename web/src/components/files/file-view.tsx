import { FileChip } from "./file-chip";
import { useFileRef } from "./file-url";
import { isPicture } from "./file-ref";
import { t } from "@/lib/later-texts";
import { Picture } from "./picture";
import { Sound } from "./sound";

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
