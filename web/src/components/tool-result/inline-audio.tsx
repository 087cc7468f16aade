import { formatSize } from "@/components/files/file-ref";
import { t } from "@/lib/later-texts";

interface InlineAudioProps {
  /** Base64. */
  data: string;
  mimeType: string;
}

/** Larger audio is not decoded. 10 MB in base64. */
const MAX_BASE64_CHARS = 14_000_000;
const PLAYABLE_TYPES = /^audio\/(?:aac|flac|mp3|mp4|mpeg|ogg|wav|wave|webm|x-wav|x-m4a)$/u;

/** Audio in a tool result, without autoplay. */
export function InlineAudio({ data, mimeType }: InlineAudioProps) {
  if (!PLAYABLE_TYPES.test(mimeType) || data.length > MAX_BASE64_CHARS) {
    const size = formatSize((data.length * 3) / 4);
    return <p className="text-ink-2 wrap-anywhere">{t("result.audioRefused", { type: mimeType, size })}</p>;
  }
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
