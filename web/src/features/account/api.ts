import { queryOptions } from "@tanstack/react-query";
import { callApi, jsonBody } from "@/lib/api-client";
import { type Download, fetchFile } from "@/lib/save-file";

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

/** Everything of the person in one file.
 * @throws {ApiError} when the server refuses or the file breaks off */
export function exportAccount(): Promise<Download> {
  return fetchFile("/api/account/export");
}
