import { queryOptions } from "@tanstack/react-query";
import { callApi } from "@/lib/api-client";

/** A chat that the person shares. */
export interface Share {
  id: string;
  title: string;
  /** How many messages. */
  messages: number;
  /** Whether what tools were given and gave back is in it. */
  tools: boolean;
  createdAt: string;
}

/** What the person shares, the newest first. */
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

/** Ends all shares of the user. */
export async function endAllShares(): Promise<void> {
  await callApi("/api/shares", { method: "DELETE" });
}
