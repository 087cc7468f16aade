import type { ChatMessage, Part } from "./message";

/** Counts the parts of a streaming answer that match a predicate. */
export function countPending(message: ChatMessage | null, isPending: (part: Part) => boolean): number {
  return message?.status === "streaming" ? message.parts.filter(isPending).length : 0;
}

/** Returns true for a tool call with an open elicitation, which needs more than an approval. */
export const hasElicitation = (part: Part): boolean =>
  part.type === "dynamic-tool" && part.state === "input-available" && (part.elicitations?.length ?? 0) > 0;

/** Returns true for a tool call that waits for the user. */
export const isAwaitingUser = (part: Part): boolean =>
  (part.type === "dynamic-tool" && part.state === "approval-requested") || hasElicitation(part);

/** Returns true while text arrives, so that no "thinking" line is needed below it. */
export function isStreamingText(message: ChatMessage | null): boolean {
  const last = message?.parts.at(-1);
  if (last?.type !== "text" && last?.type !== "reasoning") return false;
  return last.state === "streaming" && last.text !== "";
}
