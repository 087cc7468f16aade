import { type ReactNode, useId } from "react";

interface WaitingListProps {
  title: string;
  /** What a screen reader says when it changes; empty while nothing waits. */
  announcement: string;
  /** A row for each message. */
  children: readonly ReactNode[];
}

/** A list of messages that wait, above the field in which they were written. It is not shown while it is empty. */
export function WaitingList({ title, announcement, children }: WaitingListProps) {
  const titleId = useId();
  return (
    <>
      <p role="status" className="sr-only">
        {announcement}
      </p>
      {children.length > 0 && (
        <section
          aria-labelledby={titleId}
          className="mb-2.5 rounded-lg border border-line bg-surface py-1.5 pr-1.5 pl-4 text-md"
        >
          <h3 id={titleId} className="py-1 text-sm font-normal text-ink-2">
            {title}
          </h3>
          <ol className="max-h-[30dvh] space-y-1.5 overflow-y-auto">{children}</ol>
        </section>
      )}
    </>
  );
}
