import { queryOptions } from "@/lib/query/use-query";
import { rows } from "@/lib/api-client";

/** A row of `ai_chat_sessions`. */
export interface ChatSession {
  readonly id: string;
  readonly user_id: string;
  readonly title: string;
  readonly created_at: string;
  readonly updated_at: string;
}

/** The title of a chat in which nothing was said yet. */
export const NEW_TITLE = "New Chat";

/** Characters of the first message that make the title. */
const TITLE_LENGTH = 30;

/** The title that the first message gives a chat. */
export function titleOf(message: string): string {
  const characters = [...message];
  return characters.length > TITLE_LENGTH ? `${characters.slice(0, TITLE_LENGTH).join("")}...` : message;
}

/** The person's chats, the latest first. There is always one: the first is made when there is none. */
export function sessionsQuery(userId: string) {
  return queryOptions({
    queryKey: ["chat-sessions", userId],
    queryFn: async (): Promise<readonly ChatSession[]> => {
      const found = await listSessions(userId);
      return found.length > 0 ? found : [await createSession(userId)];
    },
  });
}

async function listSessions(userId: string): Promise<readonly ChatSession[]> {
  const { data } = await rows
    .from("ai_chat_sessions")
    .select("*")
    .eq("user_id", userId)
    .order("updated_at", { ascending: false })
    .throwOnError();
  return data as ChatSession[];
}

export async function createSession(userId: string): Promise<ChatSession> {
  const { data } = await rows
    .from("ai_chat_sessions")
    .insert({ user_id: userId, title: NEW_TITLE })
    .select()
    .single()
    .throwOnError();
  return data as ChatSession;
}

export async function deleteSession(id: string): Promise<void> {
  await rows.from("ai_chat_sessions").delete().eq("id", id).throwOnError();
}
