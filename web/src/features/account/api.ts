import { authorizedFetch, callApi, jsonBody } from "@/lib/api-client";
import { ApiError, errorOf } from "@/lib/api-error";
import { queryOptions } from "@/lib/query/use-query";
import { t } from "@/lib/t";

/** A place where the person is signed in. */
export interface Device {
  id: string;
  /** Whether it is the one that asks. */
  current: boolean;
  userAgent: string | null;
  createdAt: string;
  /** Exact to five minutes. */
  lastUsedAt: string;
}

/** Where the person is signed in, last used first. */
export function devicesQuery(userId: string) {
  return queryOptions({
    queryKey: ["devices", userId],
    queryFn: async () => (await callApi<{ devices: Device[] }>("/api/account/devices")).devices,
  });
}

/** Ends the sign-in of a device. */
export async function endDevice(id: string): Promise<void> {
  await callApi(`/api/account/devices/${encodeURIComponent(id)}`, { method: "DELETE" });
}

/** Deletes the account and everything that belongs to it. */
export async function deleteAccount(email: string): Promise<void> {
  await callApi("/api/account/delete", jsonBody({ email }));
}

/** A file that the server made. */
export interface Download {
  name: string;
  content: Blob;
}

/** Everything of the person in one file.
 * @throws {ApiError} when the server refuses or the file breaks off */
export async function exportAccount(): Promise<Download> {
  try {
    const response = await authorizedFetch("/api/account/export");
    if (!response.ok) throw await errorOf(response);
    const named = /filename="([^"]+)"/u.exec(response.headers.get("content-disposition") ?? "")?.[1];
    return { name: named ?? "ai-chat-mcp-export.json", content: await response.blob() };
  } catch (cause) {
    throw cause instanceof ApiError ? cause : new ApiError(t("error.unreachable"), 0);
  }
}
