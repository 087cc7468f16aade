import type { Excerpt } from "../api/history";
import { withoutMarkup } from "./without-markup";

/** A text with what was looked for marked in it. */
export function Marked({ excerpt: { text, marks } }: { excerpt: Excerpt }) {
  const words = withoutMarkup(text);
  return (
    <>
      {marks.map(([from, to], index) => (
        // The places of a text do not change.
        <span key={from}>
          {words(text.slice(marks[index - 1]?.[1] ?? 0, from))}
          <mark className="rounded-[3px] bg-accent-soft font-medium text-ink">{text.slice(from, to)}</mark>
        </span>
      ))}
      {words(text.slice(marks.at(-1)?.[1] ?? 0))}
    </>
  );
}
