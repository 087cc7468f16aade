import { type FileRef, nameOf } from "./file-ref";
import { FileChip } from "./file-chip";
import { useFile } from "./use-file";

/** Audio player, without autoplay. */
export function Sound({ file }: { file: FileRef }) {
  const { src, error } = useFile(file.url);
  if (error !== null) return <FileChip file={file} />;
  return (
    // oxlint-disable-next-line jsx-a11y/media-has-caption -- A tool's sound comes without captions.
    <audio controls aria-label={nameOf(file)} src={src} className="h-[54px] w-full" />
  );
}
