import { queryOptions } from "@tanstack/react-query";
import { callApi, jsonBody } from "@/lib/api-client";

/** A message that is sent when its turn comes. */
export interface WaitingMessage {
  readonly id: string;
  readonly content: string;
  /** The names of what goes with it. */
  readonly attached: readonly string[];
}

/** What waits in a chat. */
interface Waiting {
  /** The next one first. */
  readonly messages: readonly WaitingMessage[];
  /** Why nothing could be sent now, in words. */
  readonly hindrance: string | null;
}

export const waitingQuery = (chatId: string) =>
  queryOptions({
    queryKey: ["queue", chatId],
    queryFn: () => callApi<Waiting>(pathOf(chatId)),
    staleTime: 0,
  });

/** Other words for a message that waits.
 * @throws {ApiError} when it has been sent or removed meanwhile; so do the others */
export function changeWaiting(chatId: string, id: string, message: string): Promise<void> {
  return callApi(`${pathOf(chatId)}/${id}`, { ...jsonBody({ message }), method: "PATCH" });
}

export function removeWaiting(chatId: string, id: string): Promise<void> {
  return callApi(`${pathOf(chatId)}/${id}`, { method: "DELETE" });
}

/** Ends the answer that is being written, and sends the message. */
export function sendNow(chatId: string, id: string): Promise<void> {
  return callApi(`${pathOf(chatId)}/${id}/send`, { method: "POST" });
}

function pathOf(chatId: string): string {
  return `/api/sessions/${encodeURIComponent(chatId)}/queue`;
}
