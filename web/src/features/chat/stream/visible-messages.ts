import type { ChatMessage } from "./message";

/** What stays when a turn stands in the place of a message: all before it if it is words, all up to the words if it answers. */
export function truncateAt(history: readonly ChatMessage[], id: string): readonly ChatMessage[] {
  const at = history.findIndex((message) => message.id === id);
  if (at < 0) return history;
  const isUserMessage = history[at]?.role === "user";
  return history.slice(
    0,
    isUserMessage ? at : history.slice(0, at).findLastIndex(({ role }) => role === "user") + 1,
  );
}

/** The stored messages in order. A streaming answer stands before its stored form. */
export function visibleHistory(
  history: readonly ChatMessage[],
  live: ChatMessage | null,
): readonly ChatMessage[] {
  return live?.status === "streaming" ? history.filter(({ id }) => id !== live.id) : history;
}

/** What is not stored yet, behind what is. A finished answer gives way to its stored form, and so does its question. */
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
