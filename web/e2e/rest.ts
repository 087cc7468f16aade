/** Official PostgREST client, with accounts that use it. */
import { PostgrestClient } from "@supabase/postgrest-js";
import assert from "node:assert/strict";
import type { TestApp } from "./app.ts";

export interface Row {
  [column: string]: unknown;
}

/** Creates an account and the official client for it. */
export async function person(app: TestApp): Promise<{ id: string; rest: PostgrestClient }> {
  const answer = await fetch(`${app.url}/auth/v1/signup`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email: `${crypto.randomUUID()}@example.com`, password: "correct horse" }),
  });
  const session = (await answer.json()) as { access_token: string; user: { id: string } };
  return { id: session.user.id, rest: client(app, session.access_token) };
}

export function client(app: TestApp, bearer: string): PostgrestClient {
  const headers = { apikey: "sb_publishable_0123456789", Authorization: `Bearer ${bearer}` };
  return new PostgrestClient(`${app.url}/rest/v1`, { headers, schema: "public" });
}

/** The rows of an answer that went well. */
export function rows(answer: { data: unknown; error: unknown }): Row[] {
  assert.equal(answer.error, null);
  return answer.data as Row[];
}

export function titles(answer: { data: unknown; error: unknown }): unknown[] {
  return rows(answer).map((row) => row["title"]);
}
