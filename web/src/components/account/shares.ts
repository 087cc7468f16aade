import { queryOptions } from "@tanstack/react-query";
import { callApi } from "@/lib/api-client";

/** Shared chat of the user. */
export interface Share {
  id: string;
  title: string;
  /** Number of messages. */
  messages: number;
  /** True if arguments and results of tools are included. */
  tools: boolean;
  createdAt: string;
}

/** Returns the query for the user's shares, the newest first. */
export function sharesQuery(userId: string) {
  return queryOptions({
    queryKey: ["shares", userId],
    queryFn: async () => (await callApi<{ shares: Share[] }>("/api/shares")).shares,
    staleTime: 0,
  });
}

export async function endShare(id: string): Promise<void> {
  await callApi(`/api/shares/${encodeURIComponent(id)}`, { method: "DELETE" });
}

/** Revokes all shares of the user. */
export async function endAllShares(): Promise<void> {
  await callApi("/api/shares", { method: "DELETE" });
}
