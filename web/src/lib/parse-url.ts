/** Parses a URL; null if it is none. Replaces `URL.parse`, which some supported browsers lack. */
export function parseUrl(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null;
}
