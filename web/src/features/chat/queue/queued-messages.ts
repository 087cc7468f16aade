import { queryOptions } from "@tanstack/react-query";
import { callApi, jsonBody } from "@/lib/api-client";

/** Message that is sent after the current answer. */
export interface QueuedMessage {
  readonly id: string;
  readonly content: string;
  /** Names of the message's attachments. */
  readonly attached: readonly string[];
}

/** Queue of a chat. */
interface Waiting {
  /** The next message first. */
  readonly messages: readonly QueuedMessage[];
  /** Reason why no message can be sent at the moment, for the user. */
  readonly hindrance: string | null;
}

export const queueQuery = (chatId: string) =>
  queryOptions({
    queryKey: ["queue", chatId],
    queryFn: () => callApi<Waiting>(pathOf(chatId)),
    staleTime: 0,
  });

/**
 * Replaces the text of a queued message.
 * @throws {ApiError} if it was sent or removed in the meantime; the functions below throw likewise
 */
export function changeQueued(chatId: string, id: string, message: string): Promise<void> {
  return callApi(`${pathOf(chatId)}/${id}`, { ...jsonBody({ message }), method: "PATCH" });
}

export function removeQueued(chatId: string, id: string): Promise<void> {
  return callApi(`${pathOf(chatId)}/${id}`, { method: "DELETE" });
}

/** Stops the current answer and sends the message. */
export function sendNow(chatId: string, id: string): Promise<void> {
  return callApi(`${pathOf(chatId)}/${id}/send`, { method: "POST" });
}

function pathOf(chatId: string): string {
  return `/api/sessions/${encodeURIComponent(chatId)}/queue`;
}
