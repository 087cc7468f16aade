import { type ReactNode, useId } from "react";

const headingOf = (section: string): string => `settings-${section}`;

/** Puts the focus on a section, when what had it goes away. */
export function focusSection(section: string): void {
  document.getElementById(headingOf(section))?.focus();
}

interface SectionProps {
  /** Names the section for {@link focusSection}. */
  id?: string;
  title: string;
  /** What it is about, where the title does not say it. */
  about?: string;
  /** What stands below the box. */
  foot?: ReactNode;
  children?: ReactNode;
}

/** A heading and a box of rows. */
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
