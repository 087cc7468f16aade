import { type ReactNode, useId } from "react";

interface PendingMessageListProps {
  title: string;
  /** Announcement for screen readers on changes; empty if no message waits. */
  announcement: string;
  /** One row per message. */
  children: readonly ReactNode[];
}

/** List of waiting messages above the message field, hidden while it is empty. */
export function PendingMessageList({ title, announcement, children }: PendingMessageListProps) {
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
