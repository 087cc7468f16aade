import { readSession } from "@/lib/session";
import { temporaryChats } from "@/lib/temporary-chats";
import { forgetAfter } from "@/lib/user-data";

const prefix = "ai-chat-mcp.draft.";
const userPrefix = (): string => {
  const session = readSession();
  return `${prefix}${"user" in session ? session.user.id : ""}.`;
};
const key = (chatId: string): string => `${userPrefix()}${chatId}`;

/** The drafts of chats that are not kept: they go with the page. */
const unkept = new Map<string, string>();

const isUnkept = (chatId: string): boolean => [...temporaryChats].some((id) => chatId.endsWith(id));

forgetAfter("session", () => unkept.clear());
forgetAfter("user", forgetOthersDrafts);
// Another user may have closed the browser without signing out; their drafts are still in its storage.
if ("user" in readSession()) forgetOthersDrafts();

/** Removes the stored drafts of all but the signed-in user. */
function forgetOthersDrafts(): void {
  // Whose they are is not known yet.
  if (readSession().status === "checking") return;
  try {
    for (const stored of Object.keys(localStorage))
      if (stored.startsWith(prefix) && !stored.startsWith(userPrefix())) localStorage.removeItem(stored);
  } catch {
    // Without storage no draft was kept.
  }
}

/** Returns what follows a prefix in the keys under which something is kept for the user. */
export function draftKeys(start: string): readonly string[] {
  const startOfKey = userPrefix() + start;
  try {
    const all = [
      ...Object.keys(localStorage),
      ...[...unkept.keys()].map((unkeptKey) => userPrefix() + unkeptKey),
    ];
    return all.filter((each) => each.startsWith(startOfKey)).map((each) => each.slice(startOfKey.length));
  } catch {
    return [];
  }
}

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
