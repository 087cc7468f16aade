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
import { sessionsQuery, shownTitle } from "../queries";
import { markFavicon } from "./favicon";
import { markTitle } from "./title-marks";

interface AttentionProps {
  userId: string;
  /** Opens the chat of a notification that the user has pressed. */
  onOpenChat: (chatId: string) => void;
}

/**
 * Tells the user that an answer has ended or a tool asks while the page is hidden: by the page's title and icon until
 * they look, and by a notification if they have switched them on.
 */
export function Attention({ userId, onOpenChat }: AttentionProps) {
  const queries = useQueryClient();
  const language = useLanguage();
  const openChat = useEffectEvent((chatId: string) => {
    const chats = queries.getQueryData(sessionsQuery(userId).queryKey);
    // A temporary chat is in no list; opening another would end it.
    if (chats?.some(({ id }) => id === chatId) === true) onOpenChat(chatId);
  });
  useEffect(() => {
    const onMessage = ({ data }: MessageEvent<Partial<OpenChatMessage>>): void => {
      if (data.openChat !== undefined) openChat(data.openChat);
    };
    navigator.serviceWorker?.addEventListener("message", onMessage);
    return () => navigator.serviceWorker?.removeEventListener("message", onMessage);
  }, []);
  useEffect(() => {
    if (isNotifying()) preload(() => storeTexts(language));
  }, [language]);
  useEffect(() => {
    const { queryKey } = sessionsQuery(userId);
    const titleOf = (chatId: string): string => {
      const chat = queries.getQueryData(queryKey)?.find(({ id }) => id === chatId);
      return chat === undefined ? t("chat.new") : shownTitle(chat);
    };
    return followTurns(titleOf, (event) => {
      const { sessionId } = event;
      if (isNotifying()) preload(() => showNotification({ ...event, title: titleOf(sessionId) }, openChat));
    });
  }, [queries, userId]);
  return null;
}

/** What has happened in a chat since the user looked away. */
interface ChatNews {
  label: string;
  isWaiting: boolean;
}

function followTurns(titleOf: (chatId: string) => string, notify: (event: TurnEvent) => void): () => void {
  const news = new Map<string, ChatNews>();
  /** Turns that wait for the user. A stream reports them again whenever it begins. */
  const waiting = new Set<string>();
  const show = (): void => {
    // The chats that wait are counted by those who know which one is open.
    const ended = [...news.values()].filter(({ isWaiting }) => !isWaiting);
    markTitle("news", ended.length, ended.at(-1)?.label ?? "");
    markFavicon(news.size > 0);
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
  const unsubscribe = subscribeEvents((event) => {
    if (event.type !== "turn") return;
    const { sessionId, turnId, state } = event;
    const wasWaiting = waiting.has(turnId);
    if (state === "waiting") waiting.add(turnId);
    else waiting.delete(turnId);
    if (document.visibilityState !== "hidden") return;
    if (state === "waiting" ? !wasWaiting : hasAnswer(event)) {
      put(sessionId, { label: labelOf(event, titleOf(sessionId)), isWaiting: state === "waiting" });
      notify(event);
    } else if (wasWaiting && state !== "waiting") put(sessionId, undefined);
  });
  document.addEventListener("visibilitychange", look);
  return () => {
    unsubscribe();
    document.removeEventListener("visibilitychange", look);
    news.clear();
    show();
  };
}

/** Returns true for the end of a turn that the user did not cause. */
function hasAnswer({ state, outcome }: TurnEvent): boolean {
  return state === "ended" && (outcome === "done" || outcome === "failed");
}

function labelOf({ state, outcome }: TurnEvent, title: string): string {
  if (state === "waiting") return t("attention.chat.waits", { title });
  return t(outcome === "failed" ? "attention.chat.failed" : "attention.chat.replied", { title });
}
