import { type ReactNode, useId } from "react";

/** Heading with a list of chats or messages. */
export function ListGroup({ name, children }: { name: string; children: ReactNode }) {
  const id = useId();
  return (
    <section aria-labelledby={id} className="pb-1">
      <h4 id={id} className="px-2.5 pt-1.5 pb-1 text-xs font-normal text-ink-3">
        {name}
      </h4>
      <ul>{children}</ul>
    </section>
  );
}
