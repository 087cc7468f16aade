import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { chatKey } from "./queries";
import type { ChatStore } from "./stream/chat-store";

/** Makes a chat follow its turn while its panel and the browser's tab are visible. */
export function useIsVisible(chatId: string, store: ChatStore): void {
  const queries = useQueryClient();
  useEffect(() => {
    const look = () => {
      const isVisible = document.visibilityState === "visible";
      store.setVisible(isVisible);
      if (isVisible) void queries.invalidateQueries({ queryKey: chatKey(chatId) });
    };
    store.setVisible(document.visibilityState === "visible");
    document.addEventListener("visibilitychange", look);
    return () => {
      document.removeEventListener("visibilitychange", look);
      store.setVisible(false);
    };
  }, [chatId, store, queries]);
}
