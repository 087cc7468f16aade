import { parseUrl } from "@/lib/parse-url";

const SCHEMES: ReadonlySet<string> = new Set(["http:", "https:", "mailto:"]);

/** The address as a link may carry it, or null: no script, no data, nothing relative that would stay on this page. */
export function safeUrl(address: string): URL | null {
  const url = parseUrl(address);
  return url && SCHEMES.has(url.protocol) ? url : null;
}

/** Where a link leads, for people: the host, or the mail address. */
export function hostOf(url: URL): string {
  return url.protocol === "mailto:" ? url.pathname : url.host;
}
