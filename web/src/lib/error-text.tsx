import type { ReactNode } from "react";
import { ApiError } from "./api-error";
import { tRich } from "./t";

/** Renders an error for the user. A sentence of the server is quoted, because it is English and can be a fragment. */
export function errorText(error: Error): ReactNode {
  if (!(error instanceof ApiError) || !error.isServerText) return error.message;
  return tRich("error.said", { message: error.message, q: quoted });
}

/** Renders words of a server or a tool within a sentence of the page, in the quotation marks of the page's language. */
export function quoted(words: ReactNode): ReactNode {
  return <q>{words}</q>;
}
