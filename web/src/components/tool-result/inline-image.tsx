import { formatSize } from "@/components/files/file-ref";
import { t } from "@/lib/later-texts";

interface InlineImageProps {
  /** Base64. */
  data: string;
  mimeType: string;
}

/** Larger images are not decoded. 10 MB in base64. */
const MAX_BASE64_CHARS = 14_000_000;
/** Raster formats only, because SVG can contain a document. */
const DISPLAYABLE_TYPES = /^image\/(?:png|jpeg|gif|webp)$/u;

/** Returns true if images of a type are displayed. */
export function isDisplayableImage(mimeType: string): boolean {
  return DISPLAYABLE_TYPES.test(mimeType);
}

/** Image in a tool result. */
export function InlineImage({ data, mimeType }: InlineImageProps) {
  if (!isDisplayableImage(mimeType) || data.length > MAX_BASE64_CHARS) {
    const size = formatSize((data.length * 3) / 4);
    return <p className="text-ink-2 wrap-anywhere">{t("result.imageRefused", { type: mimeType, size })}</p>;
  }
  return (
    <img
      src={`data:${mimeType};base64,${data}`}
      alt={t("result.image")}
      decoding="async"
      className="max-h-96 max-w-full justify-self-start rounded-md border border-line object-contain"
    />
  );
}
