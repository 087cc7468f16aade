import { useEffect, useState, useSyncExternalStore } from "react";
import { type AwaitedInteraction, awaitedIn, subscribeEvents, turnStateOf, waitingChats } from "@/lib/events";
import { t } from "@/lib/later-texts";
import { markTitle, waitingChatLabel } from "../attention/title-marks";
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
 * tab's title says what waits, too: the tool, and if it is another, the chat.
 */
export function Announcer({ chatId, store, chats }: AnnouncerProps) {
  const status = useChatStatus(store);
  const { phase } = status;
  const [replied, setReplied] = useState(false);
  if (phase === "running" && !replied) setReplied(true);
  const isHidden = useSyncExternalStore(subscribeVisibility, () => document.visibilityState === "hidden");
  const state = useSyncExternalStore(subscribeEvents, () => turnStateOf(chatId));
  // A chat that was in the background follows its turn again a moment later; what was announced is not said again.
  const replying = phase === "running" || (replied && phase === "idle" && state !== undefined);
  const awaited = useSyncExternalStore(subscribeEvents, () => awaitedIn(chatId));
  // A background tab does not follow its chat, but receives events about it.
  const isFollowed = !isHidden || state === undefined;
  const count = isFollowed ? status.pendingCount : state === "waiting" ? Math.max(status.pendingCount, 1) : 0;
  const waiting = useSyncExternalStore(subscribeEvents, waitingChats);
  const others = waiting.split(" ").filter((id) => id !== "" && id !== chatId);
  const other = chats.find(({ id }) => id === others.at(-1));
  const otherAwaited = useSyncExternalStore(subscribeEvents, () => awaitedIn(other?.id ?? ""));
  const otherWords = other === undefined ? "" : waitingChatLabel(shownTitle(other), otherAwaited);
  const words = waitingWords(status, awaited, isFollowed);
  const total = count + others.length;
  const label = count > 0 ? words : otherWords;
  useEffect(() => {
    markTitle("waiting", total, label);
    return () => markTitle("waiting", 0, "");
  }, [total, label]);
  const replyWords = replied && phase === "idle" ? t("attention.replied") : "";
  return (
    <>
      <p role="status" className="sr-only">
        {replying ? (status.pendingCount > 0 ? words : t("attention.replying")) : replyWords}
      </p>
      <p role="status" className="sr-only">
        {otherWords}
      </p>
    </>
  );
}

/** Returns what an open chat waits for: as far as it is followed what its messages say, else what the event says. */
function waitingWords(
  { pendingCount, pendingTool, hasPendingElicitation }: ChatStatus,
  awaited: AwaitedInteraction | undefined,
  isFollowed: boolean,
): string {
  if (pendingTool !== null && pendingCount > 1)
    return t("attention.several", { tool: pendingTool, n: pendingCount - 1 });
  const isCurrent = pendingTool === null || !isFollowed || awaited?.tool === pendingTool;
  if (awaited !== undefined && isCurrent) return t(`attention.${awaited.kind}`, { tool: awaited.tool });
  if (pendingTool === null) return t("attention.unknown");
  return t(hasPendingElicitation ? "attention.elicitation" : "attention.approval", { tool: pendingTool });
}

function subscribeVisibility(listener: () => void): () => void {
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
}
