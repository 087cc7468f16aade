import { t } from "@/lib/account-text";
import { callApi } from "@/lib/api-client";

/** What came of a file. */
export interface Imported {
  /** Chats that are new. */
  imported: number;
  /** Chats that were there already. */
  skipped: number;
}

/** Brings the chats of a file in: one of ours, or the list of ChatGPT's conversations.
 * @throws {Error} when it is neither, with what is wrong in words for people */
export async function importChats(file: Blob): Promise<Imported> {
  const first = (await file.slice(0, 64).text()).trimStart().slice(0, 1);
  if (first !== "{" && first !== "[") throw new Error(t("account.import.notJson"));
  // The server takes objects; ChatGPT's file is a list.
  const body = first === "[" ? new Blob(['{"conversations":', file, "}"]) : file;
  return callApi("/api/account/import", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
}
