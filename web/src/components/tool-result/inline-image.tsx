import { t } from "./result-text";

interface InlineImageProps {
  /** Base64. */
  data: string;
  mimeType: string;
}

/** Larger pictures are not decoded. In characters of base64: 10 MB. */
const MAX_BASE64_CHARS = 14_000_000;
/** Raster formats alone: a drawing can hold a document of its own. */
const DISPLAYABLE_TYPES = /^image\/(?:png|jpeg|gif|webp)$/u;

/** Whether pictures of a kind are shown at all. */
export function isDisplayableImage(mimeType: string): boolean {
  return DISPLAYABLE_TYPES.test(mimeType);
}

/** A picture inside a tool's result. */
export function InlineImage({ data, mimeType }: InlineImageProps) {
  if (!isDisplayableImage(mimeType) || data.length > MAX_BASE64_CHARS) {
    const n = Math.ceil((data.length * 3) / 4 / 1_000);
    return <p className="text-ink-2 wrap-anywhere">{t("result.imageRefused", { type: mimeType, n })}</p>;
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
