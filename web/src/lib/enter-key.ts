import type { KeyboardEvent } from "react";

/**
 * Returns true if a key belongs to an input method, where Enter ends a choice; some browsers only report key code 229.
 */
export function isComposing(event: KeyboardEvent): boolean {
  return event.nativeEvent.isComposing || event.keyCode === 229;
}

/**
 * Returns true if a key sends the text: Enter without Shift, and with Control or Command everywhere. On touch screens
 * Enter starts a new line, because their keyboards have no Shift+Enter.
 */
export function isSending(event: KeyboardEvent): boolean {
  if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return false;
  return event.ctrlKey || event.metaKey || !matchMedia("(pointer: coarse)").matches;
}
