/** Returns the chat id in the URL, so that a reload and the back button restore the chat. */
export function chatInUrl(): string | null {
  return new URLSearchParams(location.search).get("c");
}

/** Writes the chat id to the URL as a step of the history, and leaves the rest of the URL unchanged. */
export function writeChatToUrl(id: string, previous: string | undefined): void {
  const open = chatInUrl();
  if (open === id) return;
  // The first chat was opened without its id in the URL; the back button needs it.
  if (open === null && previous !== undefined) history.replaceState(history.state, "", urlOf(previous));
  history.pushState(history.state, "", urlOf(id));
}

function urlOf(chatId: string): URL {
  const url = new URL(location.href);
  url.searchParams.set("c", chatId);
  return url;
}
