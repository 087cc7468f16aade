/** Returns the URL that a text is, or null: `URL.parse` for browsers that lack it. */
export function parseUrl(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null;
}
