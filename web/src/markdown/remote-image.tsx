import { Image } from "lucide-react";
import { useState } from "react";
import { hostOf, safeUrl } from "@/lib/safe-url";
import { t } from "@/lib/t";

interface RemoteImageProps {
  address: string;
  alt: string;
}

/** Image of another site, loaded on request only: loading it would tell the site that it was viewed. */
export function RemoteImage({ address, alt }: RemoteImageProps) {
  const [wanted, setWanted] = useState(false);
  const url = safeUrl(address);
  if (!url || url.protocol === "mailto:") return <>{alt}</>;
  if (wanted) {
    return (
      <img src={url.href} alt={alt} referrerPolicy="no-referrer" className="max-h-96 max-w-full rounded-md" />
    );
  }
  return (
    <button
      type="button"
      onClick={() => setWanted(true)}
      className="inline-flex items-center gap-2 rounded-md border border-line-strong bg-surface px-3 py-1.5 text-sm text-ink-2 hover:text-ink touch:min-h-11"
    >
      <Image aria-hidden="true" className="size-4 shrink-0" />
      <span>{t("chat.image.load", { host: hostOf(url) })}</span>
      {alt !== "" && <span className="text-ink">{alt}</span>}
    </button>
  );
}
