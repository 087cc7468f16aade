import { queryOptions } from "@tanstack/react-query";
import { callApi, jsonBody } from "@/lib/api-client";
import { type Download, fetchFile } from "@/lib/save-file";

/** Session of the user in a browser or client. */
export interface Device {
  id: string;
  /** True if this request came from it. */
  current: boolean;
  userAgent: string | null;
  createdAt: string;
  /** Rounded to five minutes. */
  lastUsedAt: string;
}

/** Returns the query for the user's sessions, last used first. */
export function devicesQuery(userId: string) {
  return queryOptions({
    queryKey: ["devices", userId],
    queryFn: async () => (await callApi<{ devices: Device[] }>("/api/account/devices")).devices,
  });
}

/** Signs out a device. */
export async function endDevice(id: string): Promise<void> {
  await callApi(`/api/account/devices/${encodeURIComponent(id)}`, { method: "DELETE" });
}

/** Deletes the account and all of its data. */
export async function deleteAccount(email: string): Promise<void> {
  await callApi("/api/account/delete", jsonBody({ email }));
}

/**
 * Exports all data of the user as one file.
 * @throws {ApiError} if the server refuses or the file is incomplete
 */
export function exportAccount(): Promise<Download> {
  return fetchFile("/api/account/export");
}
