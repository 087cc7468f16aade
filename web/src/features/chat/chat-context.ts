import { createContext, useCallback, useSyncExternalStore } from "react";
import type { Pictures } from "@/lib/available-tool";
import type { ChatStatus } from "./stream/chat-contract";
import type { ChatStore } from "./stream/chat-store";
import type { ChatMessage } from "./stream/message";

/** Id of the chat that a component belongs to. */
export const ChatId = createContext("");

/** Finds the icons of a tool, or of its server. */
export const ToolIconsOf = createContext<(serverName: string, tool: string) => Pictures | undefined>(
  () => undefined,
);

/** Sends a text in this chat; resolves to true if the server accepted it. */
export const SendInChat = createContext<(text: string) => Promise<boolean>>(async () => false);

/** Subscribes to the state of a chat, which does not change while text streams. */
export function useChatStatus(store: ChatStore): ChatStatus {
  return useSyncExternalStore(store.subscribe, store.status);
}

/** Subscribes to one message. */
export function useMessage(store: ChatStore, id: string): ChatMessage | undefined {
  const subscribe = useCallback((listener: () => void) => store.subscribeTo(id)(listener), [store, id]);
  return useSyncExternalStore(subscribe, () => store.message(id));
}
