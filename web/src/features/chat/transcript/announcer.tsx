import { useEffect, useState, useSyncExternalStore } from "react";
import { turnStateOf, subscribeEvents } from "@/lib/events";
import { t } from "@/lib/t";
import type { Phase } from "../stream/chat-contract";

interface AnnouncerProps {
  chatId: string;
  phase: Phase;
  /** Number of tool calls that wait for the user. */
  pendingCount: number;
  /** True if one of them needs more than an approval. */
  hasPendingElicitation: boolean;
}

/**
 * Announces to screen readers that an answer starts, waits and ends, without its text, and counts waiting calls in the
 * tab's title.
 */
export function Announcer({ chatId, phase, pendingCount, hasPendingElicitation }: AnnouncerProps) {
  const [replied, setReplied] = useState(false);
  const replying = phase === "running";
  if (replying && !replied) setReplied(true);
  const count = usePendingCount(chatId, pendingCount);
  useEffect(() => countInTitle(count), [count]);
  const words = pendingCount > 0 ? t(hasPendingElicitation ? "chat.asks" : "chat.waits") : t("chat.replying");
  return (
    <p role="status" className="sr-only">
      {replying ? words : replied && phase === "idle" ? t("chat.replied") : ""}
    </p>
  );
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

function countInTitle(pendingCount: number): void {
  const title = document.title.replace(/^\(\d+\) /u, "");
  document.title = pendingCount > 0 ? `(${pendingCount}) ${title}` : title;
}
