import type { ChatMessage } from "./message";

/**
 * Returns the history that stays when a turn replaces a message: all before a user message; for an answer, all up to
 * its user message.
 */
export function truncateAt(history: readonly ChatMessage[], id: string): readonly ChatMessage[] {
  const at = history.findIndex((message) => message.id === id);
  if (at < 0) return history;
  const isUserMessage = history[at]?.role === "user";
  return history.slice(
    0,
    isUserMessage ? at : history.slice(0, at).findLastIndex(({ role }) => role === "user") + 1,
  );
}

/** Returns the stored messages, without the stored form of an answer that is still streaming. */
export function visibleHistory(
  history: readonly ChatMessage[],
  live: ChatMessage | null,
): readonly ChatMessage[] {
  return live?.status === "streaming" ? history.filter(({ id }) => id !== live.id) : history;
}

/**
 * Returns the messages after the history that are not stored yet. A finished answer and its user message disappear here
 * once they are stored.
 */
export function optimisticTail(
  history: readonly ChatMessage[],
  pending: ChatMessage | null,
  live: ChatMessage | null,
): readonly ChatMessage[] {
  const stored = live !== null && history.some(({ id }) => id === live.id);
  const showsPending = pending !== null && !stored;
  const showsLive = live !== null && (live.status === "streaming" || !stored);
  return [...(showsPending ? [pending] : []), ...(showsLive ? [live] : [])];
}
