import { useEffect, useEffectEvent } from "react";

interface Shortcuts {
  /** Mod+Shift+O. */
  onNew: () => void;
  /** Mod+/. */
  onFocus: () => void;
  /** Mod+K. */
  onFind: () => void;
}

/** The keys of the chat, with Control or Command. */
export function useShortcuts({ onNew, onFocus, onFind }: Shortcuts): void {
  const onKeyDown = useEffectEvent((event: KeyboardEvent) => {
    if (!(event.ctrlKey || event.metaKey)) return;
    if (event.shiftKey && event.key.toLowerCase() === "o") onNew();
    else if (event.key === "/") onFocus();
    else if (event.key === "k") onFind();
    else return;
    event.preventDefault();
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKeyDown(event);
    document.addEventListener("keydown", listener);
    return () => document.removeEventListener("keydown", listener);
  }, []);
}
