import { queryOptions } from "@tanstack/react-query";
import { callApi } from "@/lib/api-client";
import { deleteRows, insertRow, readRows } from "@/lib/rows";

/** Row of `ai_chat_sessions` with the user's settings of the chat. */
export interface ChatSession {
  readonly id: string;
  readonly user_id: string;
  readonly title: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly pinned?: boolean;
  readonly archived?: boolean;
}

/** Title of a chat without messages. */
export const NEW_TITLE = "New Chat";

/** Number of characters of the first message that become the title. */
const TITLE_LENGTH = 30;

/** Returns the title that a first message gives its chat. */
export function titleOf(message: string): string {
  const characters = [...message];
  return characters.length > TITLE_LENGTH ? `${characters.slice(0, TITLE_LENGTH).join("")}...` : message;
}

/** Returns the query for the user's chats, the latest first. */
export function sessionsQuery(userId: string) {
  return queryOptions({
    queryKey: ["chat-sessions", userId],
    queryFn: async (): Promise<readonly ChatSession[]> => {
      const [found, marks] = await Promise.all([
        listSessions(userId),
        callApi<Record<"pinned" | "archived", string[]>>("/api/sessions/marks"),
      ]);
      const [pinned, archived] = [new Set(marks.pinned), new Set(marks.archived)];
      return found.map((chat) => ({
        ...chat,
        pinned: pinned.has(chat.id),
        archived: archived.has(chat.id),
      }));
    },
  });
}

function listSessions(userId: string): Promise<readonly ChatSession[]> {
  return readRows("ai_chat_sessions", { user_id: `eq.${userId}`, order: "updated_at.desc" });
}

/** Returns those of the user's chats that have these ids. */
export function listSessionsById(userId: string, ids: readonly string[]): Promise<readonly ChatSession[]> {
  return readRows("ai_chat_sessions", { user_id: `eq.${userId}`, id: `in.(${ids.join(",")})` });
}

/** Returns chats in the order of the list. */
export function sortLatestFirst(chats: readonly ChatSession[]): readonly ChatSession[] {
  return chats.toSorted((one, other) => Date.parse(other.updated_at) - Date.parse(one.updated_at));
}

export function createSession(userId: string): Promise<ChatSession> {
  return insertRow("ai_chat_sessions", { user_id: userId, title: NEW_TITLE });
}

export function deleteSession(id: string): Promise<void> {
  return deleteRows("ai_chat_sessions", { id: `eq.${id}` });
}
