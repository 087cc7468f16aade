import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { databases, startApp, type TestApp } from "./app.ts";
import { browser, newEmail, ok, password, sessionOf } from "./auth-browser.ts";

for (const database of databases) {
  describe(`anonymous people with the official client on ${database}`, { concurrency: true }, () => {
    let app: TestApp;
    before(async () => {
      app = await startApp({ database, env: { CHAT_ANONYMOUS_SIGN_IN: "on" } });
    });
    after(async () => {
      await app.stop();
    });

    test("come without an address and stay under one", async () => {
      const client = browser(app);
      const session = sessionOf(ok(await client.signInAnonymously({ options: { data: { theme: "dark" } } })));
      assert.equal(session.user.is_anonymous, true);
      assert.deepEqual(session.user.user_metadata, { theme: "dark" });
      assert.equal(ok(await client.getClaims())?.claims.is_anonymous, true);
      const bare = (await client.updateUser({ password })).error;
      assert.deepEqual([bare?.code, bare?.status], ["validation_failed", 422]);

      const email = newEmail();
      const lasting = ok(await client.updateUser({ email, password })).user;
      assert.deepEqual([lasting.id, lasting.email, lasting.is_anonymous], [session.user.id, email, false]);
      assert.equal(lasting.identities?.[0]?.provider, "email");
      sessionOf(ok(await client.refreshSession()));
      assert.equal(ok(await client.getClaims())?.claims.is_anonymous, false);
      const there = browser(app);
      assert.equal(ok(await there.signInWithPassword({ email, password })).user?.id, session.user.id);
    });

    test("have no second factor", async () => {
      const client = browser(app);
      ok(await client.signInAnonymously());
      const refused = (await client.mfa.enroll({ factorType: "totp", friendlyName: "phone" })).error;
      assert.deepEqual([refused?.code, refused?.status], ["no_authorization", 403]);
    });
  });
}
