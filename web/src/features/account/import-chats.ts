import { t } from "@/lib/later-texts";
import { callApi } from "@/lib/api-client";

/** Result of an import. */
export interface Imported {
  /** Number of new chats. */
  imported: number;
  /** Number of chats that existed already. */
  skipped: number;
}

/**
 * Imports the chats of a file: an export of this app, or ChatGPT's list of conversations.
 * @throws {Error} if it is neither, with a message for the user
 */
export async function importChats(file: Blob): Promise<Imported> {
  const first = (await file.slice(0, 64).text()).trimStart().slice(0, 1);
  if (first !== "{" && first !== "[") throw new Error(t("account.import.notJson"));
  // The server accepts objects only; ChatGPT's file is a list.
  const body = first === "[" ? new Blob(['{"conversations":', file, "}"]) : file;
  return callApi("/api/account/import", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
}
