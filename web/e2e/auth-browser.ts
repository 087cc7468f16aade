import { AuthClient, type Session, type SupportedStorage } from "@supabase/auth-js";
import assert from "node:assert/strict";
import type { TestApp } from "./app.ts";

export type Client = InstanceType<typeof AuthClient>;

export const password = "correct horse";

/** One browser: a client with a storage of its own. */
export function browser(
  app: TestApp,
  fetch: typeof globalThis.fetch = globalThis.fetch,
  flowType: "implicit" | "pkce" = "implicit",
): Client {
  const items = new Map<string, string>();
  const storage: SupportedStorage = {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: (key) => void items.delete(key),
  };
  return new AuthClient({
    url: `${app.url}/auth/v1`,
    headers: { apikey: "sb_publishable_test" },
    storageKey: `sb-${crypto.randomUUID()}-auth-token`,
    storage,
    fetch,
    flowType,
    persistSession: true,
    autoRefreshToken: false,
    detectSessionInUrl: false,
    experimental: { recoveryCodes: true },
  });
}

export function newEmail(): string {
  return `${crypto.randomUUID()}@example.com`;
}

/** Returns the data of a call, which must not have failed. */
export function ok<R extends { data: unknown; error: unknown }>(
  result: R,
): Extract<R, { error: null }>["data"] {
  assert.equal(result.error, null);
  return result.data;
}

export function sessionOf(data: { session: Session | null }): Session {
  assert.ok(data.session);
  return data.session;
}

export async function signedUp(client: Client): Promise<{ email: string; session: Session }> {
  const email = newEmail();
  const session = sessionOf(ok(await client.signUp({ email, password })));
  return { email, session };
}

/** Signs in to the same account from another browser. */
export async function another(app: TestApp, email: string): Promise<Client> {
  const client = browser(app);
  ok(await client.signInWithPassword({ email, password }));
  return client;
}
