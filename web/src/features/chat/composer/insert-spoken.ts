/** Text with a place for what is dictated. */
export interface DictationPlace {
  readonly before: string;
  readonly after: string;
}

/** Inserts what was said, with spaces around it where words would otherwise run together. */
export function insertSpoken(
  { before, after }: DictationPlace,
  spoken: string,
): { text: string; end: number } {
  const words = spoken.replaceAll(/\s+/gu, " ").trim();
  if (words === "") return { text: before + after, end: before.length };
  const start = before + (before === "" || /\s$/u.test(before) ? "" : " ") + words;
  const space = after === "" || /^[\s.,;:!?)]/u.test(after) ? "" : " ";
  return { text: start + space + after, end: start.length };
}
