import { useEffect, useLayoutEffect, useRef } from "react";
import { slowParsesSettle } from "@/markdown/slow-parse";
import { markOpening } from "../conversations/opening-marker";

/** Waits until the browser has painted the current content. */
function nextPaint(): Promise<void> {
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

/** Marks a chat as being opened until its messages have been painted. */
export function useOpeningMarker(chatId: string, loaded: boolean): void {
  const clear = useRef<() => void>(undefined);
  useLayoutEffect(() => {
    clear.current = markOpening(chatId);
    return () => clear.current?.();
  }, [chatId]);
  useEffect(() => {
    if (!loaded) return;
    // A hidden tab paints nothing, so nothing can crash while painting.
    if (document.hidden) return clear.current?.();
    const own = clear.current;
    void nextPaint()
      .then(slowParsesSettle)
      .then(nextPaint)
      .then(() => own?.());
  }, [loaded]);
}
