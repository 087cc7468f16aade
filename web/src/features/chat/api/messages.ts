import { rows } from "@/lib/api-client";
import { PAGE_SIZE } from "../stream/chat-contract";
import type { ChatMessage } from "../stream/message";
import { fromRow, type MessageRow } from "../stream/stored-message";

function messagesOf(sessionId: string) {
  return rows.from("ai_chat_messages").select("*").eq("session_id", sessionId);
}

/** The newest page of a chat, or the page before a moment; oldest first. */
export async function loadPage(sessionId: string, before: string | null): Promise<readonly ChatMessage[]> {
  const older = before === null ? messagesOf(sessionId) : messagesOf(sessionId).lt("created_at", before);
  const { data } = await older.order("created_at", { ascending: false }).limit(PAGE_SIZE).throwOnError();
  return (data as MessageRow[]).toReversed().map(fromRow);
}

/** The messages of a chat from a moment on, oldest first. */
export async function loadSince(sessionId: string, from: string | null): Promise<readonly ChatMessage[]> {
  const newer = from === null ? messagesOf(sessionId) : messagesOf(sessionId).gte("created_at", from);
  const { data } = await newer.order("created_at", { ascending: true }).throwOnError();
  return (data as MessageRow[]).map(fromRow);
}
