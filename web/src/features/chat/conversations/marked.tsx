import type { Excerpt } from "../api/history";

/** A text with what was looked for marked in it. */
export function Marked({ excerpt: { text, marks } }: { excerpt: Excerpt }) {
  return (
    <>
      {marks.map(([from, to], index) => (
        // The places of a text do not change.
        <span key={from}>
          {text.slice(marks[index - 1]?.[1] ?? 0, from)}
          <mark className="rounded-[3px] bg-accent-soft font-medium text-ink">{text.slice(from, to)}</mark>
        </span>
      ))}
      {text.slice(marks.at(-1)?.[1] ?? 0)}
    </>
  );
}
