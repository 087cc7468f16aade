import { useState } from "react";
import { forgetAfter } from "./user-data";

const drafts = new Map<string, unknown>();

/**
 * State that outlives its component, so that typed text is still there after a detour to the sign-in screen.
 * It lives in memory alone: keys and headers that people type never reach the browser's storage.
 */
export function useDraft<Value>(key: string, initial: Value): [Value, (value: Value) => void] {
  const [value, setValue] = useState<Value>(() => (drafts.has(key) ? (drafts.get(key) as Value) : initial));
  function change(next: Value): void {
    drafts.set(key, next);
    setValue(next);
  }
  return [value, change];
}

forgetAfter("user", () => drafts.clear());
