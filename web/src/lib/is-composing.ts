import type { KeyboardEvent } from "react";

/** Whether a key belongs to an input method, where Enter ends a choice; some browsers then say only 229. */
export function isComposing(event: KeyboardEvent): boolean {
  return event.nativeEvent.isComposing || event.keyCode === 229;
}

/**
 * Whether a key sends what is written: Enter without Shift, and with Control or Command everywhere. The keyboard on a touch
 * screen has no Shift that makes a line, so its Enter does.
 */
export function isSending(event: KeyboardEvent): boolean {
  if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return false;
  return event.ctrlKey || event.metaKey || !matchMedia("(pointer: coarse)").matches;
}
