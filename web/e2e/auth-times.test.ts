import { AuthClient } from "@supabase/auth-js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { Account } from "./account.ts";
import { startApp } from "./app.ts";

test("the official client keeps the published keys for 10 minutes", async (t) => {
  const app = await startApp();
  t.after(() => app.stop());
  const { session } = await Account.create(app.url);
  const asked: string[] = [];
  const client = new AuthClient({
    url: `${app.url}/auth/v1`,
    autoRefreshToken: false,
    persistSession: false,
    fetch: (input, init) => {
      asked.push(new URL(new Request(input).url).pathname);
      return fetch(input, init);
    },
  });
  const claims = async () => assert.equal((await client.getClaims(session.access_token)).error, null);
  const start = Date.now();
  t.mock.timers.enable({ apis: ["Date"], now: start });
  await claims();
  t.mock.timers.setTime(start + 10 * 60_000 - 1);
  await claims();
  assert.deepEqual(asked, ["/auth/v1/.well-known/jwks.json"]);
  t.mock.timers.setTime(start + 10 * 60_000);
  await claims();
  assert.equal(asked.length, 2);
});
