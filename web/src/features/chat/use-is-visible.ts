import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { ChatStore } from "./stream/chat-store";

/** Has a chat follow its turn while it is in sight: its panel is shown, and the browser shows the tab. */
export function useIsVisible(chatId: string, store: ChatStore): void {
  const queries = useQueryClient();
  useEffect(() => {
    const look = () => {
      const isVisible = document.visibilityState === "visible";
      store.setVisible(isVisible);
      if (isVisible) void queries.invalidateQueries({ queryKey: ["chat", chatId] });
    };
    store.setVisible(document.visibilityState === "visible");
    document.addEventListener("visibilitychange", look);
    return () => {
      document.removeEventListener("visibilitychange", look);
      store.setVisible(false);
    };
  }, [chatId, store, queries]);
}
