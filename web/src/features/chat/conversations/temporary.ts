import { ApiError } from "@/lib/api-error";
import { authorizedFetch, callApi } from "@/lib/api-client";
import { t } from "@/lib/history-text";
import { temporaryChats } from "@/lib/temporary-chats";
import { forgetAfter } from "@/lib/user-data";
import type { TemporaryChat } from "./use-chats";

const pathOf = (id: string): string => `/api/temporary-chats/${encodeURIComponent(id)}`;

/** Begins a chat that is never written down.
 * @throws {ApiError} when the server cannot have one */
export async function openTemporary(userId: string): Promise<TemporaryChat> {
  const { id } = await callApi<{ id: string }>("/api/temporary-chats", { method: "POST" });
  temporaryChats.add(id);
  // Without its session the chat cannot be dropped from here; the server drops it by itself.
  const forget = forgetAfter("session", () => {
    removeEventListener("pagehide", drop);
    forget();
  });
  const drop = () => {
    removeEventListener("pagehide", drop);
    forget();
    temporaryChats.delete(id);
    // A page that goes away does not wait. What is not dropped now, the server drops by itself.
    authorizedFetch(pathOf(id), { method: "DELETE", keepalive: true }).catch(() => undefined);
  };
  addEventListener("pagehide", drop);
  const now = new Date().toISOString();
  return { id, user_id: userId, title: t("history.temporary"), created_at: now, updated_at: now, drop };
}

/** Whether the server still has a temporary chat. Without an answer, it is taken to have it. */
export async function isThere(id: string): Promise<boolean> {
  try {
    await callApi(pathOf(id));
    return true;
  } catch (error) {
    return !(error instanceof ApiError && error.status === 404);
  }
}
