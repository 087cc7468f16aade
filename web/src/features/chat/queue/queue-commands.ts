import { callApi, jsonBody } from "@/lib/api-client";
import { chatPath } from "../queries";

/**
 * Replaces the text of a queued message.
 * @throws {ApiError} if it was sent or removed in the meantime; the functions below throw likewise
 */
export function changeQueued(chatId: string, id: string, message: string): Promise<void> {
  return callApi(chatPath(chatId, `queue/${id}`), { ...jsonBody({ message }), method: "PATCH" });
}

export function removeQueued(chatId: string, id: string): Promise<void> {
  return callApi(chatPath(chatId, `queue/${id}`), { method: "DELETE" });
}

/** Stops the current answer and sends the message. */
export function sendNow(chatId: string, id: string): Promise<void> {
  return callApi(chatPath(chatId, `queue/${id}/send`), { method: "POST" });
}
