/** Parses a URL; null if it is none. Replaces `URL.parse`, which some supported browsers lack. */
export function parseUrl(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null;
}

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

/** Parses an address of a web page as a browser would open it; undefined for everything else. */
export function webAddress(text: string): URL | undefined {
  const url = parseUrl(text);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) return undefined;
  // A user name before the host only serves to deceive.
  return url.username === "" && url.password === "" ? url : undefined;
}
