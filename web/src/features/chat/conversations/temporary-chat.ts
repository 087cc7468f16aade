import { authorizedFetch, callApi } from "@/lib/api-client";
import { ApiError } from "@/lib/api-error";
import { t } from "@/lib/later-texts";
import { forgetAfter } from "@/lib/user-data";
import { temporaryChats } from "../composer/draft";
import type { TemporaryChat } from "./use-chats";

const pathOf = (id: string): string => `/api/temporary-chats/${encodeURIComponent(id)}`;

/**
 * Creates a temporary chat, which is never stored.
 * @throws {ApiError} if the server cannot create one
 */
export async function openTemporary(userId: string): Promise<TemporaryChat> {
  const { id } = await callApi<{ id: string }>("/api/temporary-chats", { method: "POST" });
  temporaryChats.add(id);
  // Without the session the chat cannot be deleted from here; the server deletes it later.
  const forget = forgetAfter("session", () => {
    removeEventListener("pagehide", drop);
    forget();
  });
  const drop = () => {
    removeEventListener("pagehide", drop);
    forget();
    temporaryChats.delete(id);
    // A page that is being closed does not wait. The server deletes the chat later if this fails.
    authorizedFetch(pathOf(id), { method: "DELETE", keepalive: true }).catch(() => undefined);
  };
  addEventListener("pagehide", drop);
  const now = new Date().toISOString();
  return { id, user_id: userId, title: t("history.temporary"), created_at: now, updated_at: now, drop };
}

/** Returns true if the server still has a temporary chat, or if it does not respond. */
export async function temporaryChatExists(id: string): Promise<boolean> {
  try {
    await callApi(pathOf(id));
    return true;
  } catch (error) {
    return !(error instanceof ApiError && error.status === 404);
  }
}
