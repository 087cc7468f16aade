import { useEffect, useEffectEvent } from "react";
import type { ChatCommand } from "@/features/chat/chat-panel";

/** True if shortcuts use Command, because Control edits text. */
const usesCommand = /Mac|iPhone|iPad/u.test(navigator.platform);

/** Keyboard shortcuts of the chat on every tab: new chat (Mod+Shift+O), message field (Mod+/), search (Mod+K). */
export function useShortcuts(run: (command: ChatCommand) => void): void {
  const onKeyDown = useEffectEvent((event: KeyboardEvent) => {
    const command = commandOf(event);
    // Controls below a sheet are disabled.
    if (command === undefined || document.querySelector("dialog[open]") !== null) return;
    event.preventDefault();
    run(command);
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKeyDown(event);
    document.addEventListener("keydown", listener);
    return () => document.removeEventListener("keydown", listener);
  }, []);
}

function commandOf(event: KeyboardEvent): ChatCommand | undefined {
  const { key, shiftKey, altKey, ctrlKey, metaKey } = event;
  const isWithModifier = usesCommand ? metaKey && !ctrlKey : ctrlKey && !metaKey;
  if (!isWithModifier || altKey) return undefined;
  if (shiftKey && key.toLowerCase() === "o") return { type: "new" };
  // Some keyboards have the slash on a shifted key.
  if (key === "/") return { type: "focus" };
  return key === "k" && !shiftKey ? { type: "find" } : undefined;
}
