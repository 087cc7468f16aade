import { callApi, jsonBody } from "@/lib/api-client";
import { readRow, updateRows } from "@/lib/rows";
import type { ChatSession } from "./sessions";

/** Part of a text with the ranges to highlight, in UTF-16 code units. */
export interface Excerpt {
  readonly text: string;
  readonly marks: readonly (readonly [from: number, to: number])[];
}

/** Chat whose title matches a search. */
export interface ChatHit {
  readonly sessionId: string;
  readonly title: Excerpt;
  readonly updatedAt: string;
}

/** Message that matches a search. */
export interface MessageHit {
  readonly sessionId: string;
  readonly title: string;
  readonly messageId: string;
  readonly role: "user" | "assistant";
  readonly createdAt: string;
  readonly excerpt: Excerpt;
}

/** Search results, the newest first. */
export interface Found {
  readonly chats: readonly ChatHit[];
  readonly messages: readonly MessageHit[];
  readonly next: string | null;
}

export function searchChats(text: string, before: string | null): Promise<Found> {
  const query = new URLSearchParams({ q: text, ...(before !== null && { before }) });
  return callApi(`/api/search?${query}`);
}

/** Loads a chat by its id. */
export function loadSession(id: string): Promise<ChatSession> {
  return readRow("ai_chat_sessions", { id: `eq.${id}` });
}

export function renameSession(id: string, title: string): Promise<void> {
  return updateRows("ai_chat_sessions", { id: `eq.${id}` }, { title });
}

export async function markSession(
  id: string,
  marks: { readonly pinned?: boolean; readonly archived?: boolean },
): Promise<void> {
  await callApi(pathOf(id, "marks"), { ...jsonBody(marks), method: "PUT" });
}

export async function restoreSession(id: string): Promise<void> {
  await callApi(pathOf(id, "restore"), { method: "POST" });
}

/** Shares a snapshot of a chat and returns its link. */
export async function shareSession(id: string, options: { tools: boolean; files: boolean }): Promise<string> {
  return (await callApi<{ url: string }>(pathOf(id, "shares"), jsonBody(options))).url;
}

/** Returns the path of a chat's download. */
export function exportPath(id: string, format: "markdown" | "json"): string {
  return `${pathOf(id, "export")}?format=${format}`;
}

function pathOf(id: string, what: string): string {
  return `/api/sessions/${encodeURIComponent(id)}/${what}`;
}
