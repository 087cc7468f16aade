import type { KeyboardEvent } from "react";

/** Whether a key belongs to an input method, where Enter ends a choice; some browsers then say only 229. */
export function isComposing(event: KeyboardEvent): boolean {
  return event.nativeEvent.isComposing || event.keyCode === 229;
}
