import { type ReactNode, useEffect, useState } from "react";
import { authorizedFetch } from "@/lib/api-client";
import type { Icon } from "@/lib/connection";
import { forgetAfter } from "@/lib/user-data";

interface ServerIconProps {
  connectionId: string;
  icons: readonly Icon[] | undefined;
  /** Shown while there is no image, or none that may be shown. */
  fallback: ReactNode;
}

/** Loaded images by connection and address; undefined for failed ones. */
const pictures = new Map<string, Promise<string | undefined>>();
forgetAfter("session", () => {
  for (const picture of pictures.values())
    void picture.then((url) => url?.startsWith("blob:") === true && URL.revokeObjectURL(url));
  pictures.clear();
});

/**
 * Decorative icon of a server or tool. It is loaded through our own server, which hides the user from the icon's host
 * and passes only small raster images.
 */
export function ServerIcon({ connectionId, icons, fallback }: ServerIconProps) {
  const src = choose(icons)?.src;
  const [picture, setPicture] = useState<{ src: string; url: string | undefined }>();
  useEffect(() => {
    if (src === undefined) return;
    let wanted = true;
    void load(connectionId, src).then((url) => wanted && setPicture({ src, url }));
    return () => {
      wanted = false;
    };
  }, [connectionId, src]);
  const url = picture?.src === src ? picture?.url : undefined;
  return (
    <span aria-hidden="true" className="grid size-4 shrink-0 place-items-center text-ink-2 [&>svg]:size-4">
      {url === undefined ? (
        fallback
      ) : (
        <img
          src={url}
          alt=""
          className="size-4 rounded-[3px] object-contain"
          onError={() => setPicture(src === undefined ? undefined : { src, url: undefined })}
        />
      )}
    </span>
  );
}

/** First letter of a server's name, in place of an icon. */
export function ServerLetter({ name }: { name: string }) {
  return (
    <span className="-m-0.5 grid size-5 place-items-center rounded-[5px] bg-accent-soft text-xs font-semibold text-accent uppercase">
      {[...name][0]}
    </span>
  );
}

/** Returns the icon for the page's theme, or one for any theme. */
function choose(icons: readonly Icon[] | undefined): Icon | undefined {
  if (icons === undefined || icons.length === 0) return undefined;
  const scheme = getComputedStyle(document.documentElement).colorScheme;
  const isDark =
    scheme === "dark" || (scheme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  const wanted = isDark ? "dark" : "light";
  return (
    icons.find(({ theme }) => theme === wanted) ?? icons.find(({ theme }) => theme === undefined) ?? icons[0]
  );
}

function load(connectionId: string, src: string): Promise<string | undefined> {
  // The server has validated data URLs in the listing.
  if (src.startsWith("data:")) return Promise.resolve(src);
  const key = `${connectionId} ${src}`;
  const known = pictures.get(key);
  if (known !== undefined) return known;
  const path = `/api/connections/${encodeURIComponent(connectionId)}/icon?src=${encodeURIComponent(src)}`;
  const loaded = authorizedFetch(path)
    .then(async (response) => (response.ok ? URL.createObjectURL(await response.blob()) : undefined))
    .catch(() => undefined);
  pictures.set(key, loaded);
  return loaded;
}
