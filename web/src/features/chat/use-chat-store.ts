import { useCallback, useSyncExternalStore } from "react";
import type { ChatStatus } from "./stream/chat-contract";
import type { ChatStore } from "./stream/chat-store";
import type { ChatMessage } from "./stream/message";

/** What the frame of a chat shows; does not change while words stream in. */
export function useChatStatus(store: ChatStore): ChatStatus {
  return useSyncExternalStore(store.subscribe, store.status);
}

/** One message, with a subscription of its own. */
export function useMessage(store: ChatStore, id: string): ChatMessage | undefined {
  const subscribe = useCallback((listener: () => void) => store.subscribeTo(id)(listener), [store, id]);
  return useSyncExternalStore(subscribe, () => store.message(id));
}
