import type { ServerQuestion } from "./message";

/** The questions that are open after one was put or settled. */
export function questionsAfter(
  open: readonly ServerQuestion[] | undefined,
  id: string,
  data: { readonly state: string; readonly request?: unknown },
): readonly ServerQuestion[] {
  const others = (open ?? []).filter((question) => question.id !== id);
  return data.state === "waiting" ? [...others, { id, request: data.request }] : others;
}
