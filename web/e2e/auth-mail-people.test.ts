import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { databases, startApp, type TestApp } from "./app.ts";
import { another, browser, newEmail, ok, password } from "./auth-browser.ts";
import { confirmed, deadLink, follow, fragmentOf, landingOf, refusalOf } from "./mailed.ts";
import { Mailbox } from "./mailbox.ts";

for (const database of databases) {
  describe(`being let in and changing an account by mail, on ${database}`, { concurrency: true }, () => {
    let mailbox: Mailbox;
    let app: TestApp;
    before(async () => {
      mailbox = await Mailbox.open();
      app = await startApp({ database, env: mailbox.env });
    });
    after(async () => {
      await app.stop();
      await mailbox.close();
    });

    test("a forgotten password: the link lets in, and a new password ends what was before", async () => {
      const owner = browser(app);
      const email = await confirmed(app, mailbox, owner);
      ok(await browser(app).resetPasswordForEmail(email, { redirectTo: `${app.url}/auth?mode=recovery` }));
      const mail = await mailbox.next(email);
      assert.equal(mail.subject, "Choose a new password");
      const landing = await landingOf(mail.link);
      assert.equal(landing.href.split("#")[0], `${app.url}/auth?mode=recovery`);
      const { access_token = "", refresh_token = "", type } = fragmentOf(landing);
      assert.equal(type, "recovery");
      const client = browser(app);
      ok(await client.setSession({ access_token, refresh_token }));

      ok(await browser(app).signInWithOtp({ email }));
      const pending = await mailbox.next(email);
      ok(await client.updateUser({ password: "another horse" }));
      assert.equal((await owner.getUser()).error?.name, "AuthSessionMissingError");
      assert.deepEqual(
        fragmentOf(await landingOf(pending.link)),
        deadLink,
        "a new password voids what was mailed",
      );
      ok(await client.getUser());
      ok(await browser(app).signInWithPassword({ email, password: "another horse" }));
    });

    test("a recovery confirms an address that never was", async () => {
      const email = newEmail();
      ok(await browser(app).signUp({ email, password }));
      const confirmation = await mailbox.next(email);
      ok(await browser(app).resetPasswordForEmail(email));
      const recovery = await mailbox.next(email);
      const client = browser(app);
      ok(await client.verifyOtp({ email, token: recovery.code, type: "recovery" }));
      ok(await client.updateUser({ password }));
      await another(app, email);
      assert.deepEqual(fragmentOf(await landingOf(confirmation.link)), deadLink);
    });

    test("a magic link signs in, and makes an account where that is wanted", async () => {
      const email = await confirmed(app, mailbox);
      const client = browser(app);
      ok(await client.signInWithOtp({ email, options: { shouldCreateUser: false } }));
      const mail = await mailbox.next(email);
      assert.equal(mail.subject, "Sign in");
      assert.equal(await follow(client, mail.link), "magiclink");

      const stranger = newEmail();
      const refused = await client.signInWithOtp({ email: stranger, options: { shouldCreateUser: false } });
      assert.deepEqual(refusalOf(refused), [422, "otp_disabled", "Signups not allowed for otp"]);
      ok(await client.signInWithOtp({ email: stranger, options: { data: { name: "Eve" } } }));
      const { code } = await mailbox.next(stranger);
      const { user } = ok(await browser(app).verifyOtp({ email: stranger, token: code, type: "email" }));
      assert.equal(user?.user_metadata["name"], "Eve");
      const without = await browser(app).signInWithPassword({ email: stranger, password: "" });
      assert.equal(without.error?.code, "invalid_credentials");
    });

    test("an address changes when both have confirmed it, in any order", async () => {
      for (const newFirst of [true, false]) {
        const client = browser(app);
        const email = await confirmed(app, mailbox, client);
        const wanted = newEmail();
        const changed = ok(await client.updateUser({ email: wanted })).user;
        assert.deepEqual([changed.email, changed.new_email], [email, wanted]);
        assert.ok(changed.email_change_sent_at);
        const current = await mailbox.next(email);
        const fresh = await mailbox.next(wanted);
        assert.ok(current.text.includes(wanted));
        const [first, second] = newFirst ? [fresh, current] : [current, fresh];
        const message = "Confirmation link accepted. Please proceed to confirm link sent to the other email";
        assert.deepEqual(fragmentOf(await landingOf(first.link)), { message, sb: "" });
        assert.deepEqual(
          fragmentOf(await landingOf(first.link)),
          deadLink,
          "one address does not confirm twice",
        );
        assert.equal(ok(await client.getUser()).user.email, email);
        assert.equal(await follow(client, second.link), "email_change");
        const { user } = ok(await client.getUser());
        assert.deepEqual([user.email, user.new_email], [wanted, undefined]);
        assert.equal(user.identities?.[0]?.identity_data?.["email"], wanted);
        await another(app, wanted);
      }
    });

    test("an address changes by codes, mailed again", async () => {
      const client = browser(app);
      const email = await confirmed(app, mailbox, client);
      const wanted = newEmail();
      ok(await client.updateUser({ email: wanted }));
      const old = [await mailbox.next(email), await mailbox.next(wanted)];
      ok(await client.resend({ type: "email_change", email }));
      const [current, fresh] = [await mailbox.next(email), await mailbox.next(wanted)];
      for (const { link } of old) assert.deepEqual(fragmentOf(await landingOf(link)), deadLink);
      const half = ok(await client.verifyOtp({ email: wanted, token: fresh.code, type: "email_change" }));
      assert.equal(half.session, null);
      const whole = ok(await client.verifyOtp({ email, token: current.code, type: "email_change" }));
      assert.equal(whole.user?.email, wanted);
    });

    test("a change of address whose caller goes away in the middle is not lost", async () => {
      const leaving = new AbortController();
      const fetchAndLeave: typeof fetch = (input, init) =>
        fetch(input, init?.method === "PUT" ? { ...init, signal: leaving.signal } : init);
      const client = browser(app, fetchAndLeave);
      const email = await confirmed(app, mailbox, client);
      const wanted = newEmail();
      const asked = client.updateUser({ email: wanted });
      const toPresent = await mailbox.next(email);
      leaving.abort();
      assert.equal((await asked).error?.name, "AuthRetryableFetchError");
      const toWanted = await mailbox.next(wanted);
      while (ok(await client.getUser()).user.new_email !== wanted) await sleep(50);
      await landingOf(toPresent.link);
      assert.equal(await follow(client, toWanted.link), "email_change");
      assert.equal(ok(await client.getUser()).user.email, wanted);
    });

    test("nobody takes an address that somebody else has got meanwhile", async () => {
      const client = browser(app);
      const email = await confirmed(app, mailbox, client);
      const wanted = newEmail();
      ok(await client.updateUser({ email: wanted }));
      const [current, fresh] = [await mailbox.next(email), await mailbox.next(wanted)];
      const other = browser(app);
      ok(await other.signUp({ email: wanted, password }));
      ok(await other.verifyOtp({ email: wanted, token: (await mailbox.next(wanted)).code, type: "signup" }));
      await landingOf(current.link);
      assert.equal(fragmentOf(await landingOf(fresh.link))["error_code"], "email_exists");
      assert.equal(ok(await client.getUser()).user.email, email);
      const taken = await client.updateUser({ email: wanted });
      assert.equal(taken.error?.code, "email_exists");
    });

    test("a mailed nonce allows one new password", async () => {
      const client = browser(app);
      const email = await confirmed(app, mailbox, client);
      ok(await client.reauthenticate());
      const { code: nonce, html } = await mailbox.next(email);
      assert.ok(!html.includes("<a "));
      const wrong = await client.updateUser({ password: "another horse", nonce: "000000" });
      assert.deepEqual(refusalOf(wrong), [
        422,
        "reauthentication_not_valid",
        "Nonce has expired or is invalid",
      ]);
      ok(await client.updateUser({ password: "another horse", nonce }));
      const used = await client.updateUser({ password: "a third horse", nonce });
      assert.equal(used.error?.code, "reauthentication_not_valid");
    });
  });
}
