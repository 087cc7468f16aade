import type { KeyboardEvent } from "react";

/**
 * Returns true if a key belongs to an input method, where Enter ends a choice; some browsers only report key code 229.
 */
export function isComposing(event: KeyboardEvent): boolean {
  return event.nativeEvent.isComposing || event.keyCode === 229;
}

/**
 * Sends the text on the key that the user prefers: Enter, or Enter with Control or Command. The other one starts a new
 * line, and Shift+Enter always. Touch keyboards have no Shift+Enter, so there Enter starts a new line.
 */
export function sendOnEnter(event: KeyboardEvent<HTMLTextAreaElement>, send: () => void): void {
  if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return;
  const isWithMod = event.ctrlKey || event.metaKey;
  const sendsWithMod =
    document.documentElement.dataset["sendWith"] === "mod-enter" || matchMedia("(pointer: coarse)").matches;
  // Enter alone starts a new line by itself.
  if (!isWithMod && sendsWithMod) return;
  event.preventDefault();
  if (isWithMod === sendsWithMod) send();
  // Unlike a change of the value, it can be undone.
  else document.execCommand("insertText", false, "\n");
}
