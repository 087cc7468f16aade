/** The chat that the address names, so that a reload and the back button keep the place. */
export function chatInUrl(): string | null {
  return new URLSearchParams(location.search).get("c");
}

/** Names the open chat in the address, as a step that Back undoes, and leaves the rest of the address as it is. */
export function writeChatToUrl(id: string, previous: string | undefined): void {
  const open = chatInUrl();
  if (open === id) return;
  // The first chat was opened without being named: Back has to find it.
  if (open === null && previous !== undefined) history.replaceState(history.state, "", urlOf(previous));
  history.pushState(history.state, "", urlOf(id));
}

function urlOf(chatId: string): URL {
  const url = new URL(location.href);
  url.searchParams.set("c", chatId);
  return url;
}
