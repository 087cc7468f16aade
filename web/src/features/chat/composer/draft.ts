const key = (chatId: string): string => `ai-chat-mcp.draft.${chatId}`;

/** The text that was typed in a chat and not yet taken by the server. */
export function readDraft(chatId: string): string {
  try {
    return localStorage.getItem(key(chatId)) ?? "";
  } catch {
    return "";
  }
}

/** Keeps the text of a chat through reloads; a blank one is forgotten. */
export function writeDraft(chatId: string, text: string): void {
  try {
    if (text.trim() === "") localStorage.removeItem(key(chatId));
    else localStorage.setItem(key(chatId), text);
  } catch {
    // Without storage a draft lives as long as the page.
  }
}
