import type { ChatMessage, Part } from "./message";

/** How many parts of an answer that still grows wait for the person in this way. */
export function countPending(message: ChatMessage | null, isPending: (part: Part) => boolean): number {
  return message?.status === "streaming" ? message.parts.filter(isPending).length : 0;
}

/** It asks for more than a permission. */
export const hasElicitation = (part: Part): boolean =>
  part.type === "dynamic-tool" && part.state === "input-available" && (part.questions?.length ?? 0) > 0;

/** It waits for the person. */
export const isAwaitingUser = (part: Part): boolean =>
  (part.type === "dynamic-tool" && part.state === "approval-requested") || hasElicitation(part);

/** Whether words are coming in, so that no "thinking" line is needed under them. */
export function isStreamingText(message: ChatMessage | null): boolean {
  const last = message?.parts.at(-1);
  if (last?.type !== "text" && last?.type !== "reasoning") return false;
  return last.state === "streaming" && last.text !== "";
}
