import { useEffect, useEffectEvent } from "react";
import { type ShortcutId, shortcutOf } from "./shortcuts";

/** Runs the keyboard shortcuts of the main screen on every tab. */
export function useShortcuts(run: (id: ShortcutId) => void): void {
  const onKeyDown = useEffectEvent((event: KeyboardEvent) => {
    const id = shortcutOf(event);
    // Controls below a dialog are disabled.
    if (id === undefined || document.querySelector("dialog[open]") !== null) return;
    event.preventDefault();
    run(id);
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKeyDown(event);
    document.addEventListener("keydown", listener);
    return () => document.removeEventListener("keydown", listener);
  }, []);
}
