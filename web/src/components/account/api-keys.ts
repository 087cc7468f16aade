import { queryOptions } from "@tanstack/react-query";
import { callApi, jsonBody } from "@/lib/api-client";

/** API key of a user. */
export interface ApiKey {
  id: string;
  name: string;
  /** Last characters of the key. */
  hint: string;
  scopes: readonly ("chat" | "tools")[];
  createdAt: string;
  /** Rounded to minutes; null if the key was never used. */
  lastUsedAt: string | null;
  /** Null if the key does not expire. */
  expiresAt: string | null;
}

/** Returns the query for the user's API keys, newest first. */
export function apiKeysQuery(userId: string) {
  return queryOptions({
    queryKey: ["api-keys", userId],
    queryFn: async () => (await callApi<{ keys: ApiKey[] }>("/api/keys")).keys,
    staleTime: 0,
  });
}

/** Returns true if a key has expired. */
export function isExpired({ expiresAt }: ApiKey): boolean {
  return expiresAt !== null && Date.parse(expiresAt) <= Date.now();
}

/** Creates a key. Its secret is returned only here. */
export async function makeApiKey(
  name: string,
  tools: boolean,
  expiresInDays: number | null,
): Promise<string> {
  const scopes = tools ? ["chat", "tools"] : ["chat"];
  const key = jsonBody({ name, scopes, expiresInDays });
  return (await callApi<{ secret: string }>("/api/keys", key)).secret;
}

/** Revokes all keys of the user. */
export async function endAllApiKeys(): Promise<void> {
  await callApi("/api/keys", { method: "DELETE" });
}

/** Revokes a key. */
export async function endApiKey(id: string): Promise<void> {
  await callApi(`/api/keys/${encodeURIComponent(id)}`, { method: "DELETE" });
}
