import { stripMarkup } from "./strip-markup";
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
