import { parseUrl } from "@/lib/parse-url";

const SCHEMES: ReadonlySet<string> = new Set(["http:", "https:", "mailto:"]);

/** Returns the URL if links may use it, else null: no scripts, no data, nothing relative to this page. */
export function safeUrl(address: string): URL | null {
  const url = parseUrl(address);
  return url && SCHEMES.has(url.protocol) ? url : null;
}

/** Returns the host of a link or its email address, for display. */
export function hostOf(url: URL): string {
  return url.protocol === "mailto:" ? url.pathname : url.host;
}
