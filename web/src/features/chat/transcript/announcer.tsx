import { useEffect, useState, useSyncExternalStore } from "react";
import { subscribeEvents, turnStateOf, waitingChats } from "@/lib/events";
import { t } from "@/lib/t";
import { useChatStatus } from "../chat-context";
import { type ChatSession, shownTitle } from "../queries";
import type { ChatStatus } from "../stream/chat-contract";
import type { ChatStore } from "../stream/chat-store";

interface AnnouncerProps {
  chatId: string;
  store: ChatStore;
  /** Chats whose titles can be named. */
  chats: readonly ChatSession[];
}

/**
 * Announces to screen readers that an answer starts, waits and ends, without its text, and that another chat waits. The
 * tab's title says what waits, too: the tool, or the other chat.
 */
export function Announcer({ chatId, store, chats }: AnnouncerProps) {
  const status = useChatStatus(store);
  const { phase } = status;
  const [replied, setReplied] = useState(false);
  const replying = phase === "running";
  if (replying && !replied) setReplied(true);
  const count = usePendingCount(chatId, status.pendingCount);
  const waiting = useSyncExternalStore(subscribeEvents, waitingChats);
  const others = waiting.split(" ").filter((id) => id !== "" && id !== chatId);
  const other = chats.find(({ id }) => id === others.at(-1));
  const otherWords = other === undefined ? "" : t("chat.waits.other", { title: shownTitle(other) });
  const words = waitingWords(status);
  const total = count + others.length;
  const label = count > 0 ? words : otherWords;
  useEffect(() => labelTitle(total, label), [total, label]);
  const replyWords = replied && phase === "idle" ? t("chat.replied") : "";
  return (
    <>
      <p role="status" className="sr-only">
        {replying ? (status.pendingCount > 0 ? words : t("chat.replying")) : replyWords}
      </p>
      <p role="status" className="sr-only">
        {otherWords}
      </p>
    </>
  );
}

/** Returns what an open chat waits for; a tab in the background may not know the tool. */
function waitingWords({ pendingCount, pendingTool, hasPendingElicitation }: ChatStatus): string {
  if (pendingTool === null) return t("chat.waits");
  if (pendingCount > 1) return t("chat.waits.several", { tool: pendingTool, n: pendingCount - 1 });
  return t(hasPendingElicitation ? "chat.waits.answer" : "chat.waits.approval", { tool: pendingTool });
}

/**
 * Returns the number of calls that wait for the user. A background tab does not follow its chat, but receives an event
 * about them.
 */
function usePendingCount(chatId: string, followed: number): number {
  const isHidden = useSyncExternalStore(subscribeVisibility, () => document.visibilityState === "hidden");
  const state = useSyncExternalStore(subscribeEvents, () => turnStateOf(chatId));
  if (!isHidden || state === undefined) return followed;
  return state === "waiting" ? Math.max(followed, 1) : 0;
}

function subscribeVisibility(listener: () => void): () => void {
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
}

/** What the tab's title begins with while something waits. */
let prefix = "";

function labelTitle(count: number, label: string): void {
  const title = document.title.startsWith(prefix) ? document.title.slice(prefix.length) : document.title;
  prefix = count > 0 ? `(${count}) ${label === "" ? "" : `${label} · `}` : "";
  document.title = `${prefix}${title}`;
}
