import { queryOptions } from "@tanstack/react-query";
import { callApi, jsonBody } from "@/lib/api-client";

/** A key with which a program asks in the person's name. */
export interface ApiKey {
  id: string;
  name: string;
  /** Its last letters. */
  hint: string;
  scopes: readonly ("chat" | "tools")[];
  createdAt: string;
  /** Exact to a minute; null while it has not been used. */
  lastUsedAt: string | null;
  /** From when on it opens nothing; null when it stays good until it is ended. */
  expiresAt: string | null;
}

/** The person's keys, newest first. */
export function apiKeysQuery(userId: string) {
  return queryOptions({
    queryKey: ["api-keys", userId],
    queryFn: async () => (await callApi<{ keys: ApiKey[] }>("/api/keys")).keys,
    staleTime: 0,
  });
}

/** Whether a key opens nothing any more. */
export function isExpired({ expiresAt }: ApiKey): boolean {
  return expiresAt !== null && Date.parse(expiresAt) <= Date.now();
}

/** Makes a key; the secret is told here alone. */
export async function makeApiKey(
  name: string,
  tools: boolean,
  expiresInDays: number | null,
): Promise<string> {
  const scopes = tools ? ["chat", "tools"] : ["chat"];
  const key = jsonBody({ name, scopes, expiresInDays });
  return (await callApi<{ secret: string }>("/api/keys", key)).secret;
}

/** Ends all keys of the user. */
export async function endAllApiKeys(): Promise<void> {
  await callApi("/api/keys", { method: "DELETE" });
}

/** Ends a key: its programs are refused from then on. */
export async function endApiKey(id: string): Promise<void> {
  await callApi(`/api/keys/${encodeURIComponent(id)}`, { method: "DELETE" });
}
