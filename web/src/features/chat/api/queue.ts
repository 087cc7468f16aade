import { callApi, jsonBody } from "@/lib/api-client";
import type { ToolChoice, TurnRequest } from "../stream/chat-contract";

/** Has a message wait until the answer that is being written is done.
 * @throws {ApiError} when the server refuses it or cannot be reached */
export async function addWaiting(
  sessionId: string,
  { message, attachments = [] }: TurnRequest,
  tools: readonly ToolChoice[],
): Promise<void> {
  const ids = attachments.map(({ id }) => id);
  const body = { message, sessionId, tools, ...(ids.length > 0 && { attachments: ids }) };
  await callApi(`/api/sessions/${encodeURIComponent(sessionId)}/queue`, jsonBody(body));
}
