import { Image } from "lucide-react";
import { useState } from "react";
import { t } from "@/lib/t";
import { Button } from "@/ui/button";

interface InlineImageProps {
  /** Base64. */
  data: string;
  mimeType: string;
}

/** Larger pictures are not decoded. In characters of base64: 10 MB. */
const MOST = 14_000_000;
/** Raster formats alone: a drawing can hold a document of its own. */
const SHOWN = /^image\/(?:png|jpeg|gif|webp|avif)$/u;

/** A picture inside a tool's result, shown when the person asks for it. */
export function InlineImage({ data, mimeType }: InlineImageProps) {
  const [wanted, setWanted] = useState(false);
  const kilobytes = Math.ceil((data.length * 3) / 4 / 1_000);
  if (!SHOWN.test(mimeType) || data.length > MOST)
    return <p className="text-ink-2">{t("chat.tool.imageRefused", { type: mimeType, n: kilobytes })}</p>;
  if (wanted)
    return (
      <img
        src={`data:${mimeType};base64,${data}`}
        alt={t("chat.tool.image")}
        className="max-h-96 max-w-full justify-self-start rounded-md border border-line object-contain"
      />
    );
  return (
    <Button size="sm" className="justify-self-start" onClick={() => setWanted(true)}>
      <Image aria-hidden="true" />
      {t("chat.tool.showImage", { n: kilobytes })}
    </Button>
  );
}
