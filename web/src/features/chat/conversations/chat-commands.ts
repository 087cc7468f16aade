import { callApi, jsonBody } from "@/lib/api-client";
import { deleteRows, updateRows } from "@/lib/rows";
import { chatPath } from "../queries";

export function deleteSession(id: string): Promise<void> {
  return deleteRows("ai_chat_sessions", { id: `eq.${id}` });
}

export function renameSession(id: string, title: string): Promise<void> {
  return updateRows("ai_chat_sessions", { id: `eq.${id}` }, { title });
}

export async function markSession(
  id: string,
  marks: { readonly pinned?: boolean; readonly archived?: boolean },
): Promise<void> {
  await callApi(chatPath(id, "marks"), { ...jsonBody(marks), method: "PUT" });
}

export async function restoreSession(id: string): Promise<void> {
  await callApi(chatPath(id, "restore"), { method: "POST" });
}

/** Shares a snapshot of a chat and returns its link. */
export async function shareSession(id: string, options: { tools: boolean; files: boolean }): Promise<string> {
  return (await callApi<{ url: string }>(chatPath(id, "shares"), jsonBody(options))).url;
}

/** Returns the path of a chat's download. */
export function exportPath(id: string, format: "markdown" | "json"): string {
  return `${chatPath(id, "export")}?format=${format}`;
}
