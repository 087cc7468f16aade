import { useCallback, useSyncExternalStore } from "react";
import type { ChatStatus } from "./stream/chat-contract";
import type { ChatStore } from "./stream/chat-store";
import type { ChatMessage } from "./stream/message";

/** Subscribes to the state of a chat, which does not change while text streams. */
export function useChatStatus(store: ChatStore): ChatStatus {
  return useSyncExternalStore(store.subscribe, store.status);
}

/** Subscribes to one message. */
export function useMessage(store: ChatStore, id: string): ChatMessage | undefined {
  const subscribe = useCallback((listener: () => void) => store.subscribeTo(id)(listener), [store, id]);
  return useSyncExternalStore(subscribe, () => store.message(id));
}
