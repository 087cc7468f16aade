import { callApi, jsonBody } from "@/lib/api-client";
import { queryOptions } from "@/lib/query/use-query";

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
}

/** The person's keys, newest first. */
export function apiKeysQuery(userId: string) {
  return queryOptions({
    queryKey: ["api-keys", userId],
    queryFn: async () => (await callApi<{ keys: ApiKey[] }>("/api/keys")).keys,
    staleTime: 0,
  });
}

/** Makes a key; the secret is told here alone. */
export async function makeApiKey(name: string, tools: boolean): Promise<string> {
  const scopes = tools ? ["chat", "tools"] : ["chat"];
  return (await callApi<{ secret: string }>("/api/keys", jsonBody({ name, scopes }))).secret;
}

/** Ends a key: its programs are refused from then on. */
export async function endApiKey(id: string): Promise<void> {
  await callApi(`/api/keys/${encodeURIComponent(id)}`, { method: "DELETE" });
}
