import { type ReactNode, useId } from "react";

interface SectionProps {
  title: string;
  /** Description below the title. */
  about?: string;
  children: ReactNode;
}

/** Titled box. */
export function Section({ title, about, children }: SectionProps) {
  const id = useId();
  return (
    <section aria-labelledby={id} className="grid grid-cols-[minmax(0,1fr)] gap-2">
      <h3 id={id} className="text-md">
        {title}
      </h3>
      {about !== undefined && <p className="-mt-1 text-sm text-ink-2">{about}</p>}
      <div className="rounded-md border border-line bg-surface">{children}</div>
    </section>
  );
}
