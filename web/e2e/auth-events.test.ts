import assert from "node:assert/strict";
import { test } from "node:test";
import { startApp } from "./app.ts";
import { browser, ok, signedUp } from "./auth-browser.ts";
import { codeOf } from "./authenticator.ts";
import { Mailbox } from "./mailbox.ts";

test("the official client announces each of its seven events", async (t) => {
  const mailbox = await Mailbox.open();
  t.after(() => mailbox.close());
  const app = await startApp({ env: { ...mailbox.env, CHAT_AUTOCONFIRM: "on" } });
  t.after(() => app.stop());
  const client = browser(app);
  const events: string[] = [];
  const { promise: initial, resolve } = Promise.withResolvers<void>();
  client.onAuthStateChange((event) => {
    events.push(event);
    resolve();
  });
  await initial;
  const { email } = await signedUp(client);
  ok(await client.refreshSession());
  ok(await client.updateUser({ data: { a: 1 } }));
  ok(await client.resetPasswordForEmail(email));
  const { tokenHash } = await mailbox.next(email);
  ok(await client.verifyOtp({ type: "recovery", token_hash: tokenHash }));
  const { id, totp } = ok(await client.mfa.enroll({ factorType: "totp", friendlyName: "app" }));
  ok(await client.mfa.challengeAndVerify({ factorId: id, code: codeOf(totp.secret) }));
  assert.equal((await client.signOut()).error, null);
  assert.deepEqual(events, [
    "INITIAL_SESSION",
    "SIGNED_IN",
    "TOKEN_REFRESHED",
    "USER_UPDATED",
    "PASSWORD_RECOVERY",
    "MFA_CHALLENGE_VERIFIED",
    "SIGNED_OUT",
  ]);
});
