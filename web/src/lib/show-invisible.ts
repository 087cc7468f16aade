/**
 * Invisible characters, and those that change how others are displayed: controls, direction marks, zero-width spaces,
 * tags. Line breaks and tabs are excluded, and the joiners that scripts and emoji need.
 */
const INVISIBLE =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u061C\u115F\u1160\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\u3164\uFEFF\uFFF9-\uFFFB\u{E0000}-\u{E0FFF}]/gu;

/** Makes invisible characters visible, as `⟨U+202E⟩`. */
export function showInvisible(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(INVISIBLE, (hidden) => {
    const code = hidden.codePointAt(0) ?? 0;
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}
