import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent } from "react";
import { subscribeEvents, type TurnEvent } from "@/lib/events";
import { useLanguage } from "@/lib/language";
import { t } from "@/lib/later-texts";
import { preload } from "@/lib/lazy-part";
import {
  closeNotifications,
  isNotifying,
  type OpenChatMessage,
  showNotification,
  storeTexts,
} from "@/lib/notifications";
import { hasTitle, loadSession, sessionsQuery, shownTitle } from "../queries";
import { markIcons } from "./icon-marks";
import { markTitle, waitingChatLabel } from "./title-marks";

interface AttentionProps {
  userId: string;
  /** Opens the chat of a notification that the user has pressed. */
  onOpenChat: (chatId: string) => void;
}

/**
 * Tells the user that an answer has ended or a tool asks while the page is hidden: by the page's title and icons until
 * they look, and by a notification if they have switched them on.
 */
export function Attention({ userId, onOpenChat }: AttentionProps) {
  const queries = useQueryClient();
  const language = useLanguage();
  /** Returns false while the chats are unknown. */
  const openChat = useEffectEvent((chatId: string): boolean => {
    const chats = queries.getQueryData(sessionsQuery(userId).queryKey);
    // A temporary chat is in no list; opening another would end it.
    if (chats?.some(({ id }) => id === chatId) === true) onOpenChat(chatId);
    return chats !== undefined;
  });
  useEffect(() => {
    const onMessage = ({ data, ports }: MessageEvent<Partial<OpenChatMessage>>): void => {
      if (data.openChat !== undefined && openChat(data.openChat)) ports[0]?.postMessage(null);
    };
    navigator.serviceWorker?.addEventListener("message", onMessage);
    return () => navigator.serviceWorker?.removeEventListener("message", onMessage);
  }, []);
  useEffect(() => {
    if (isNotifying()) preload(() => storeTexts(language));
  }, [language]);
  useEffect(() => {
    const { queryKey } = sessionsQuery(userId);
    const titleOf = async (chatId: string): Promise<string> => {
      const listed = queries.getQueryData(queryKey)?.find(({ id }) => id === chatId);
      // The list of this tab can be older than the chat, or than its first message.
      const chat = listed && hasTitle(listed) ? listed : await loadSession(chatId).catch(() => listed);
      return chat === undefined ? t("chat.new") : shownTitle(chat);
    };
    return followTurns(titleOf, (event, title) => {
      if (isNotifying()) preload(() => showNotification({ ...event, title }, openChat));
    });
  }, [queries, userId]);
  return null;
}

/** What has happened in a chat since the user looked away. */
interface ChatNews {
  label: string;
  isWaiting: boolean;
}

function followTurns(
  titleOf: (chatId: string) => Promise<string>,
  notify: (event: TurnEvent, title: string) => void,
): () => void {
  let isOver = false;
  const news = new Map<string, ChatNews>();
  /** Turns that wait for the user. A stream reports them again whenever it begins. */
  const waiting = new Set<string>();
  const show = (): void => {
    // The chats that wait are counted by those who know which one is open.
    const ended = [...news.values()].filter(({ isWaiting }) => !isWaiting);
    markTitle("news", ended.length, ended.at(-1)?.label ?? "");
    markIcons(news.size);
  };
  const put = (chatId: string, next: ChatNews | undefined): void => {
    // Deleted first: the latest is the last.
    news.delete(chatId);
    if (next) news.set(chatId, next);
    show();
  };
  const look = (): void => {
    if (document.visibilityState === "hidden") return;
    news.clear();
    show();
    preload(closeNotifications);
  };
  const tell = async (event: TurnEvent): Promise<void> => {
    const { sessionId, turnId, state } = event;
    const isWaiting = state === "waiting";
    const title = await titleOf(sessionId);
    // Seen or answered in the meantime.
    if (isOver || document.visibilityState !== "hidden" || (isWaiting && !waiting.has(turnId))) return;
    put(sessionId, { label: labelOf(event, title), isWaiting });
    notify(event, title);
  };
  const unsubscribe = subscribeEvents((event) => {
    if (event.type !== "turn") return;
    const { sessionId, turnId, state } = event;
    const wasWaiting = waiting.has(turnId);
    if (state === "waiting") waiting.add(turnId);
    else waiting.delete(turnId);
    if (document.visibilityState !== "hidden") return;
    if (state === "waiting" ? !wasWaiting : hasAnswer(event)) void tell(event);
    else if (wasWaiting && state !== "waiting") put(sessionId, undefined);
  });
  document.addEventListener("visibilitychange", look);
  return () => {
    isOver = true;
    unsubscribe();
    document.removeEventListener("visibilitychange", look);
    news.clear();
    show();
  };
}

/** Returns true for the end of a turn that the user did not cause. */
function hasAnswer({ state, outcome }: TurnEvent): boolean {
  return state === "ended" && (outcome === "done" || outcome === "length" || outcome === "failed");
}

function labelOf({ state, outcome, waitingFor }: TurnEvent, title: string): string {
  if (state === "waiting") return waitingChatLabel(title, waitingFor);
  return t(outcome === "failed" ? "attention.chat.failed" : "attention.chat.replied", { title });
}
