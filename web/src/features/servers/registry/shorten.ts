import { showInvisible } from "@/lib/show-invisible";

/** Returns the beginning of a stranger's text, with invisible characters made visible. */
export function shorten(text: string, maxChars: number): string {
  const shown = showInvisible(text.slice(0, 2 * maxChars));
  return shown.length > maxChars ? `${shown.slice(0, maxChars).trimEnd()}…` : shown;
}
