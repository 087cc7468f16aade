import { useState } from "react";
import { forgetAfter } from "./user-data";

const drafts = new Map<string, unknown>();

/**
 * Returns state that outlives its component, so that typed text survives a visit of the sign-in screen. It is in memory
 * only, because keys and headers must not reach the browser's storage.
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
