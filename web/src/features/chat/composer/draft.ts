import { readSession } from "@/lib/session";
import { forgetAfter } from "@/lib/user-data";

/** Ids of the temporary chats of this page. Nothing typed in one may reach the browser's storage. */
export const temporaryChats = new Set<string>();
forgetAfter("session", () => temporaryChats.clear());

const prefix = "ai-chat-mcp.draft.";
const userPrefix = (): string => {
  const session = readSession();
  return `${prefix}${"user" in session ? session.user.id : ""}.`;
};
const key = (chatId: string): string => `${userPrefix()}${chatId}`;

/** Drafts of temporary chats, which are never stored. */
const unkept = new Map<string, string>();

const isUnkept = (chatId: string): boolean => [...temporaryChats].some((id) => chatId.endsWith(id));

forgetAfter("session", () => unkept.clear());
forgetAfter("user", forgetOthersDrafts);
// Another user may have closed the browser without signing out; their drafts are still stored.
if ("user" in readSession()) forgetOthersDrafts();

/** Removes the stored drafts of all other users. */
function forgetOthersDrafts(): void {
  // The user is not known yet.
  if (readSession().status === "checking") return;
  try {
    for (const stored of Object.keys(localStorage))
      if (stored.startsWith(prefix) && !stored.startsWith(userPrefix())) localStorage.removeItem(stored);
  } catch {
    // Without storage there are no drafts.
  }
}

/** Returns the suffixes of the user's storage keys that begin with a prefix. */
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

/** Returns the unsent text of a chat. */
export function readDraft(chatId: string): string {
  if (isUnkept(chatId)) return unkept.get(chatId) ?? "";
  try {
    return localStorage.getItem(key(chatId)) ?? "";
  } catch {
    return "";
  }
}

/** Moves what was written in a chat after it had this draft to another chat. */
export function moveDraft(from: string, before: string, to: string): void {
  const draft = readDraft(from);
  if (draft === before || draft === "") return;
  const kept = draft.startsWith(before) ? before : "";
  writeDraft(to, draft.slice(kept.length));
  writeDraft(from, kept);
}

/** Stores the unsent text of a chat; a blank one is removed. */
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
