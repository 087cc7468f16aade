import { useMemo } from "react";
import { PreviewButton } from "@/components/preview/preview-button";
import { t } from "@/lib/later-texts";
import { formatSize } from "@/components/files/file-ref";

interface InlineMediaProps {
  /** Base64. */
  data: string;
  mimeType: string;
}

/** Larger images and sounds are not decoded. 10 MB in base64. */
const MAX_BASE64_CHARS = 14_000_000;
/** Raster formats only, because SVG can contain a document. */
const DISPLAYABLE_TYPES = /^image\/(?:png|jpeg|gif|webp)$/u;
const PLAYABLE_TYPES = /^audio\/(?:aac|flac|mp3|mp4|mpeg|ogg|wav|wave|webm|x-wav|x-m4a)$/u;

/** Returns true if images of a type are displayed. */
export function isDisplayableImage(mimeType: string): boolean {
  return DISPLAYABLE_TYPES.test(mimeType);
}

/** Image in a tool result. SVG is shown in a preview, in which it runs no script. */
export function InlineImage({ data, mimeType }: InlineMediaProps) {
  const svg = useMemo(() => (isSvg(mimeType) ? textIn(data) : undefined), [data, mimeType]);
  if (svg !== undefined)
    return (
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Refused>{t("result.svg", { size: sizeOf(data) })}</Refused>
        <PreviewButton type="svg" text={svg} />
      </div>
    );
  if (!isDisplayableImage(mimeType) || data.length > MAX_BASE64_CHARS)
    return <Refused>{t("result.imageRefused", { type: mimeType, size: sizeOf(data) })}</Refused>;
  return (
    <img
      src={`data:${mimeType};base64,${data}`}
      alt={t("result.image")}
      decoding="async"
      className="max-h-96 max-w-full justify-self-start rounded-md border border-line object-contain"
    />
  );
}

/** Audio in a tool result, without autoplay. */
export function InlineAudio({ data, mimeType }: InlineMediaProps) {
  if (!PLAYABLE_TYPES.test(mimeType) || data.length > MAX_BASE64_CHARS)
    return <Refused>{t("result.audioRefused", { type: mimeType, size: sizeOf(data) })}</Refused>;
  return (
    // oxlint-disable-next-line jsx-a11y/media-has-caption -- A tool's sound comes without captions.
    <audio
      controls
      aria-label={t("result.audio")}
      src={`data:${mimeType};base64,${data}`}
      className="w-full"
    />
  );
}

function Refused({ children }: { children: string }) {
  return <p className="text-ink-2 wrap-anywhere">{children}</p>;
}

function isSvg(mimeType: string): boolean {
  return mimeType.trim().toLowerCase() === "image/svg+xml";
}

/** Returns the text that is encoded; undefined if it is none, or too long. */
function textIn(base64: string): string | undefined {
  if (base64.length > MAX_BASE64_CHARS) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(
      Uint8Array.from(atob(base64), (byte) => byte.charCodeAt(0)),
    );
  } catch {
    return undefined;
  }
}

function sizeOf(base64: string): string {
  return formatSize((base64.length * 3) / 4);
}
