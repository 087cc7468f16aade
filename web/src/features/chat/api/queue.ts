import { callApi, jsonBody } from "@/lib/api-client";
import type { ToolChoice, TurnRequest } from "../stream/chat-contract";

/**
 * Queues a message until the current answer is done.
 * @throws {ApiError} if the server refuses it or cannot be reached
 */
export async function enqueueMessage(
  sessionId: string,
  { message, attachments = [] }: TurnRequest,
  tools: readonly ToolChoice[],
): Promise<void> {
  const ids = attachments.map(({ id }) => id);
  const body = { message, sessionId, tools, ...(ids.length > 0 && { attachments: ids }) };
  await callApi(`/api/sessions/${encodeURIComponent(sessionId)}/queue`, jsonBody(body));
}
