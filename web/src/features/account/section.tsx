import { type ReactNode, useId } from "react";

const headingOf = (section: string): string => `settings-${section}`;

/** Id of the heading above all sections. */
export const panelHeadingId = "settings-panel";

/** Focuses a section, or else the heading above all, after the focused element inside it has disappeared. */
export function focusSection(section?: string): void {
  document.getElementById(section === undefined ? panelHeadingId : headingOf(section))?.focus();
}

interface SectionProps {
  /** Id for {@link focusSection}. */
  id?: string;
  /** Absent if it would repeat the heading of the panel. */
  title?: string;
  /** Description below the title. */
  about?: string;
  /** Content below the box. */
  foot?: ReactNode;
  children?: ReactNode;
}

/** Titled box of rows. */
export function Section({ id: name, title, about, foot, children }: SectionProps) {
  const ownId = useId();
  const id = name === undefined ? ownId : headingOf(name);
  const content = (
    <>
      {about !== undefined && <p className="-mt-1 text-sm text-ink-2">{about}</p>}
      {children !== undefined && (
        <div className="divide-y divide-line rounded-md border border-line bg-surface">{children}</div>
      )}
      {foot}
    </>
  );
  const className = "grid grid-cols-[minmax(0,1fr)] gap-2";
  if (title === undefined) return <div className={className}>{content}</div>;
  return (
    <section aria-labelledby={id} className={className}>
      <h3 id={id} tabIndex={-1} className="justify-self-start rounded-sm text-md">
        {title}
      </h3>
      {content}
    </section>
  );
}
