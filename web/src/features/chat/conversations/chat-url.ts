/** The chat that the address names, so that a reload keeps the place. */
export function chatInUrl(): string | null {
  return new URLSearchParams(location.search).get("c");
}

/** Names the open chat in the address and leaves the rest of it as it is. */
export function writeChatToUrl(id: string): void {
  const url = new URL(location.href);
  url.searchParams.set("c", id);
  history.replaceState(history.state, "", url);
}
