import { useEffect, useSyncExternalStore } from "react";
import { subscribeEvents } from "@/lib/events";
import { forgetAfter } from "@/lib/user-data";

/** Ids of the chats with an answer that was not seen yet. The tabs of a browser share them. */
const STORAGE_KEY = "unread-chats";
const MAX_UNREAD_CHATS = 500;

const listeners = new Set<() => void>();
let ids: ReadonlySet<string> = readIds();

function readIds(): ReadonlySet<string> {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "[]");
    return new Set(Array.isArray(stored) ? stored.filter((id) => typeof id === "string") : []);
  } catch {
    return new Set();
  }
}

function change(next: ReadonlySet<string>): void {
  ids = next;
  try {
    // Nothing of a user stays in a browser that they have left.
    if (next.size === 0) localStorage.removeItem(STORAGE_KEY);
    else localStorage.setItem(STORAGE_KEY, JSON.stringify([...next].slice(-MAX_UNREAD_CHATS)));
  } catch {
    // Without storage the marks last as long as the page.
  }
  for (const listener of listeners) listener();
}

addEventListener("storage", ({ key }) => {
  if (key !== STORAGE_KEY) return;
  ids = readIds();
  for (const listener of listeners) listener();
});

forgetAfter("user", () => change(new Set()));

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Returns true if a chat has an answer that was not seen yet. */
export function useIsUnread(chatId: string | undefined): boolean {
  return useSyncExternalStore(subscribe, () => chatId !== undefined && ids.has(chatId));
}

/** Marks chats as unread when their turns end. */
export function useUnreadMarks(): void {
  useEffect(
    () =>
      subscribeEvents((event) => {
        if (event.type === "turn" && event.state === "ended") change(new Set([...ids, event.sessionId]));
      }),
    [],
  );
}

/** Marks the open chat as read while its panel and the browser's tab are visible. */
export function useReadWhileVisible(chatId: string | undefined): void {
  const isUnread = useIsUnread(chatId);
  useEffect(() => {
    if (!isUnread) return;
    const look = () => {
      if (document.visibilityState === "visible") change(new Set([...ids].filter((id) => id !== chatId)));
    };
    look();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [chatId, isUnread]);
}
