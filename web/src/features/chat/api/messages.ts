import { readRows } from "@/lib/rows";
import type { ChatMessage } from "../stream/message";
import { fromRow, type MessageRow } from "../stream/stored-message";

/** Loads the newest messages of a chat, or the newest before a time; oldest first. */
export async function loadPage(
  sessionId: string,
  before: string | null,
  count: number,
): Promise<readonly ChatMessage[]> {
  const page = await readRows<MessageRow>("ai_chat_messages", {
    session_id: `eq.${sessionId}`,
    ...(before !== null && { created_at: `lt.${before}` }),
    order: "created_at.desc",
    limit: `${count}`,
  });
  return page.toReversed().map(fromRow);
}

/** Loads the messages of a chat from a time on, oldest first. */
export async function loadSince(sessionId: string, from: string | null): Promise<readonly ChatMessage[]> {
  const newer = await readRows<MessageRow>("ai_chat_messages", {
    session_id: `eq.${sessionId}`,
    ...(from !== null && { created_at: `gte.${from}` }),
    order: "created_at.asc",
  });
  return newer.map(fromRow);
}
