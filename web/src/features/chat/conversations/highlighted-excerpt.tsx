import type { Excerpt } from "../queries";

/** Search excerpt with the matches highlighted. */
export function HighlightedExcerpt({ excerpt: { text, marks } }: { excerpt: Excerpt }) {
  const words = stripMarkup(text);
  return (
    <>
      {marks.map(([from, to], index) => (
        // The ranges of an excerpt never change.
        <span key={from}>
          {words(text.slice(marks[index - 1]?.[1] ?? 0, from))}
          <mark className="rounded-[3px] bg-accent-soft font-medium text-ink">{text.slice(from, to)}</mark>
        </span>
      ))}
      {words(text.slice(marks.at(-1)?.[1] ?? 0))}
    </>
  );
}

/**
 * Returns a function that removes Markdown syntax from pieces of an excerpt: emphasis, backticks, heading marks, table
 * lines.
 */
export function stripMarkup(excerpt: string): (piece: string) => string {
  const hasTable = /\|\s*:?-{3}/u.test(excerpt);
  return (piece) => {
    const words = piece.replace(/(?<!\s)\*\*|\*\*(?!\s)|`+|(?<=^|\s)#{1,6}\s/gu, "");
    // A bar outside of a table is text.
    return hasTable ? words.replace(/\s*\|(?:[\s|]|:?-{3,}:?)*/gu, " ") : words;
  };
}
