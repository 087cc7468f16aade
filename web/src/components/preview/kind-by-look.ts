import type { PreviewKind } from "@/lib/open-preview";

/** Lines that are looked at. */
const MAX_LINES = 30;
const DELIMITERS = [",", ";", "\t"];

/**
 * Returns the kind of preview for a text without a type; undefined if its look says too little. Without a clear sign,
 * a text is no page or table: a wrong preview is worse than none.
 */
export function kindByLook(text: string): PreviewKind | undefined {
  const start = text.trimStart().slice(0, 1_000);
  if (/^(?:<!--[^]*?-->\s*)?<(?:!doctype\s+html|html)\b/iu.test(start)) return "html";
  if (/^(?:<\?xml[^>]*>\s*)?(?:<!--[^]*?-->\s*)?<svg\b/iu.test(start) && /<\/svg>\s*$/iu.test(text))
    return "svg";
  const lines = text.trim().split("\n", MAX_LINES);
  if (isMarkdown(lines)) return "markdown";
  return isCsv(lines) ? "csv" : undefined;
}

/** A heading at the start, and something else that only Markdown has. */
function isMarkdown(lines: readonly string[]): boolean {
  const [first = "", ...rest] = lines;
  return (
    /^#{1,3} \S/u.test(first) &&
    rest.some((line) =>
      /^(?:#{1,6} \S|[-*] \S|\d+\. \S|```|\|.+\||> \S)|\*\*\S.*\*\*|\]\(https?:/u.test(line),
    )
  );
}

/** Three lines with the same number of columns, at least three, and names of columns in the first. */
function isCsv(lines: readonly string[]): boolean {
  // The last line may be cut off by the limit.
  const whole = lines.length === MAX_LINES ? lines.slice(0, -1) : lines;
  if (whole.length < 3) return false;
  return DELIMITERS.some((delimiter) => {
    const columns = whole.map((line) => line.replaceAll(/"(?:[^"]|"")*"/gu, "").split(delimiter).length);
    const [names = 0] = columns;
    const hasNames = (whole[0] ?? "")
      .split(delimiter)
      .every((name) => /^\s*"?\p{L}[^.!?]{0,40}$/u.test(name));
    return names >= 3 && hasNames && columns.every((count) => count === names);
  });
}
