import type { ReactNode } from "react";

/** Renders words of a server or a tool within a sentence of the page, in the quotation marks of the page's language. */
export function quoted(words: ReactNode): ReactNode {
  return <q>{words}</q>;
}
