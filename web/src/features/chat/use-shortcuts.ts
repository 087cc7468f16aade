import { useEffect, useEffectEvent } from "react";

interface Shortcuts {
  /** Mod+Shift+O. */
  onNew: () => void;
  /** Mod+/. */
  onFocus: () => void;
}

/** The keys of the chat, with Control or Command. */
export function useShortcuts({ onNew, onFocus }: Shortcuts): void {
  const onKeyDown = useEffectEvent((event: KeyboardEvent) => {
    if (!(event.ctrlKey || event.metaKey)) return;
    if (event.shiftKey && event.key.toLowerCase() === "o") onNew();
    else if (event.key === "/") onFocus();
    else return;
    event.preventDefault();
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKeyDown(event);
    document.addEventListener("keydown", listener);
    return () => document.removeEventListener("keydown", listener);
  }, []);
}
