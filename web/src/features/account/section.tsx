import { type ReactNode, useId } from "react";

const headingOf = (section: string): string => `settings-${section}`;

/** Focuses a section after the focused element inside it has disappeared. */
export function focusSection(section: string): void {
  document.getElementById(headingOf(section))?.focus();
}

interface SectionProps {
  /** Id for {@link focusSection}. */
  id?: string;
  title: string;
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
  return (
    <section aria-labelledby={id} className="grid grid-cols-[minmax(0,1fr)] gap-2">
      <h3 id={id} tabIndex={-1} className="justify-self-start rounded-sm text-md">
        {title}
      </h3>
      {about !== undefined && <p className="-mt-1 text-sm text-ink-2">{about}</p>}
      {children !== undefined && (
        <div className="divide-y divide-line rounded-md border border-line bg-surface">{children}</div>
      )}
      {foot}
    </section>
  );
}
