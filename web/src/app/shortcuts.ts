import { modKey, shiftLabel, usesCommand } from "@/lib/mod-key";

/** Keys of a shortcut; `mod` is Command on Apple devices, else Control. */
interface Shortcut {
  readonly key: string;
  readonly mod?: boolean;
  readonly shift?: boolean;
}

/** Keyboard shortcuts of the main screen, on every tab. */
export const shortcuts = {
  palette: { mod: true, key: "k" },
  newChat: { mod: true, shift: true, key: "o" },
  message: { mod: true, key: "/" },
  shortcuts: { key: "?" },
} as const satisfies Record<string, Shortcut>;

export type ShortcutId = keyof typeof shortcuts;

/** Returns the shortcut that a key event is. */
export function shortcutOf(event: KeyboardEvent): ShortcutId | undefined {
  const { key, shiftKey, altKey, ctrlKey, metaKey } = event;
  const isWithMod = usesCommand ? metaKey && !ctrlKey : ctrlKey && !metaKey;
  const isPlain = !ctrlKey && !metaKey;
  const ids = Object.keys(shortcuts) as ShortcutId[];
  return ids.find((id) => {
    const wanted: Shortcut = shortcuts[id];
    if (altKey || key.toLowerCase() !== wanted.key) return false;
    if (wanted.mod !== true) return isPlain && !isTyping(event.target);
    // Some keyboards have the slash on a shifted key.
    return isWithMod && (shiftKey === (wanted.shift ?? false) || wanted.key === "/");
  });
}

/** Returns true if a key would write into the element. */
function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable]") !== null;
}

/** Returns the keys of a shortcut as they are printed on this device's keyboard. */
export function keysOf(id: ShortcutId): readonly string[] {
  const { key, mod = false, shift = false }: Shortcut = shortcuts[id];
  return [...(mod ? [modKey] : []), ...(shift ? [shiftLabel] : []), key.toUpperCase()];
}
