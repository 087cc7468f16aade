import { temporaryChats } from "@/lib/temporary-chats";

const key = (chatId: string): string => `ai-chat-mcp.draft.${chatId}`;

/** The drafts of chats that are not kept: they go with the page. */
const unkept = new Map<string, string>();

const isUnkept = (chatId: string): boolean => [...temporaryChats].some((id) => chatId.endsWith(id));

/** The text that was typed in a chat and not yet taken by the server. */
export function readDraft(chatId: string): string {
  if (isUnkept(chatId)) return unkept.get(chatId) ?? "";
  try {
    return localStorage.getItem(key(chatId)) ?? "";
  } catch {
    return "";
  }
}

/** Keeps the text of a chat through reloads; a blank one is forgotten. */
export function writeDraft(chatId: string, text: string): void {
  if (isUnkept(chatId)) {
    unkept.set(chatId, text);
    return;
  }
  try {
    if (text.trim() === "") localStorage.removeItem(key(chatId));
    else localStorage.setItem(key(chatId), text);
  } catch {
    // Without storage a draft lives as long as the page.
  }
}
