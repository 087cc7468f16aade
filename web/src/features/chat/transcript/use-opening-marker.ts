import { useEffect, useLayoutEffect, useRef } from "react";
import { slowParsesSettle } from "@/markdown/slow-parse";
import { markOpening } from "../conversations/opening-marker";

/** Waits until the browser has laid out and painted what is in the page now. */
function nextPaint(): Promise<void> {
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

/** Marks a chat as being opened until its messages have been drawn. */
export function useOpeningMarker(chatId: string, loaded: boolean): void {
  const clear = useRef<() => void>(undefined);
  useLayoutEffect(() => {
    clear.current = markOpening(chatId);
    return () => clear.current?.();
  }, [chatId]);
  useEffect(() => {
    if (!loaded) return;
    // In a tab that is hidden nothing is drawn, and nothing can fail to be.
    if (document.hidden) return clear.current?.();
    const own = clear.current;
    void nextPaint()
      .then(slowParsesSettle)
      .then(nextPaint)
      .then(() => own?.());
  }, [loaded]);
}
