/** True if shortcuts use Command, because Control edits text. */
export const usesCommand = /Mac|iPhone|iPad/u.test(navigator.platform);

/** Name of the key of shortcuts, as it is printed on this device's keyboard. */
export const modKey = usesCommand ? "⌘" : "Ctrl";

/** Name of the Shift key, as it is printed on this device's keyboard. */
export const shiftLabel = usesCommand ? "⇧" : "Shift";

/** Name of the Alt key, as it is printed on this device's keyboard. */
export const altLabel = usesCommand ? "⌥" : "Alt";
