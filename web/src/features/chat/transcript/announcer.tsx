import { useEffect, useState, useSyncExternalStore } from "react";
import { runOf, subscribeEvents } from "@/lib/events";
import { t } from "@/lib/t";
import type { Phase } from "../stream/chat-contract";

interface AnnouncerProps {
  chatId: string;
  phase: Phase;
  /** How many calls wait for the person. */
  pendingCount: number;
  /** Whether one of them asks for more than a permission. */
  hasPendingElicitation: boolean;
}

/** Tells a screen reader that an answer begins, waits and ends, never its words; and the tab's title that it waits. */
export function Announcer({ chatId, phase, pendingCount, hasPendingElicitation }: AnnouncerProps) {
  const [replied, setReplied] = useState(false);
  const replying = phase === "running";
  if (replying && !replied) setReplied(true);
  const count = useWaiting(chatId, pendingCount);
  useEffect(() => countInTitle(count), [count]);
  const words = pendingCount > 0 ? t(hasPendingElicitation ? "chat.asks" : "chat.waits") : t("chat.replying");
  return (
    <p role="status" className="sr-only">
      {replying ? words : replied && phase === "idle" ? t("chat.replied") : ""}
    </p>
  );
}

/** Returns how many calls wait for the user. A tab in the background does not follow its chat, but hears that it waits. */
function useWaiting(chatId: string, followed: number): number {
  const isHidden = useSyncExternalStore(subscribeVisibility, () => document.visibilityState === "hidden");
  const run = useSyncExternalStore(subscribeEvents, () => runOf(chatId));
  if (!isHidden || run === undefined) return followed;
  return run === "waiting" ? Math.max(followed, 1) : 0;
}

function subscribeVisibility(listener: () => void): () => void {
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
}

function countInTitle(pendingCount: number): void {
  const title = document.title.replace(/^\(\d+\) /u, "");
  document.title = pendingCount > 0 ? `(${pendingCount}) ${title}` : title;
}
