import { useSearchParams } from "wouter";

/** Returns the id of the chat that the URL names, so that a reload and the back button restore the chat. */
export function useChatInUrl(): string | null {
  const [params] = useSearchParams();
  return params.get("c");
}

/**
 * Writes the chat id to the URL as a step of the history, and leaves the rest of the URL unchanged. `shown` is the chat
 * to return to.
 */
export function pushChatToUrl(id: string, shown: string | undefined): void {
  const named = new URL(location.href).searchParams.get("c");
  if (named === id) return;
  // The first chat was opened without its id in the URL; the back button needs it.
  if (named === null && shown !== undefined) replaceChatInUrl(shown);
  history.pushState(history.state, "", urlOf(id));
}

/** Writes the chat id to the current step of the history. */
export function replaceChatInUrl(id: string): void {
  history.replaceState(history.state, "", urlOf(id));
}

function urlOf(chatId: string): URL {
  const url = new URL(location.href);
  url.searchParams.set("c", chatId);
  return url;
}
