import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { databases, startApp, type TestApp } from "./app.ts";
import { another, browser, type Client, newEmail, ok, password, sessionOf } from "./auth-browser.ts";
import { confirmed, deadLink, follow, fragmentOf, landingOf, methodOf, refusalOf } from "./mailed.ts";
import { Mailbox } from "./mailbox.ts";

const wrongCode = [403, "otp_expired", "Token has expired or is invalid"];

for (const database of databases) {
  describe(`confirming an account by mail, on ${database}`, { concurrency: true }, () => {
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

    test("a new account waits for its confirmation, and its link signs in", async () => {
      const client = browser(app);
      const email = newEmail();
      const made = ok(await client.signUp({ email, password, options: { data: { name: "Ann" } } }));
      assert.equal(made.session, null);
      assert.ok(made.user?.confirmation_sent_at);
      assert.equal(made.user.email_confirmed_at, undefined);
      assert.equal(made.user.identities?.length, 1);
      assert.equal(made.user.user_metadata["email_verified"], false);
      const early = await client.signInWithPassword({ email, password });
      assert.deepEqual(refusalOf(early), [400, "email_not_confirmed", "Email not confirmed"]);

      const mail = await mailbox.next(email);
      assert.equal(await follow(client, mail.link), "signup");
      const { user } = ok(await client.getUser());
      assert.ok(user.email_confirmed_at);
      assert.equal(user.user_metadata["email_verified"], true);
      assert.equal(user.user_metadata["name"], "Ann");
      assert.equal(await methodOf(client), "otp");
      await another(app, email);
      assert.deepEqual(fragmentOf(await landingOf(mail.link)), deadLink, "it has been used");
    });

    test("a mail is a letter that every program can show", async () => {
      const email = newEmail();
      ok(await browser(app).signUp({ email, password }));
      const mail = await mailbox.next(email);
      assert.equal(mail.subject, "Confirm your address");
      assert.equal(mail.parsed.from?.address, "chat@example.com");
      assert.match(mail.parsed.messageId ?? "", /^<[0-9a-f]{32}@example\.com>$/);
      assert.ok(Math.abs(Date.now() - Date.parse(mail.parsed.date ?? "")) < 60_000);
      assert.match(mail.raw, /multipart\/alternative/);
      for (const part of [mail.text, mail.html]) {
        assert.ok(
          part.includes(mail.code) && part.includes("AI Chat MCP") && part.includes("one hour"),
          part,
        );
        assert.match(part, /If you did not request this/);
      }
      assert.ok(mail.html.includes(mail.link.replaceAll("&", "&amp;")));
      assert.ok(!mail.html.includes("<img") && !mail.html.includes("<script"));
      const log = app.log();
      assert.ok(!log.includes(email) && !log.includes(mail.code) && !log.includes(mail.tokenHash));
    });

    test("a code and what the link carries sign in too, once", async () => {
      const [first, second] = [newEmail(), newEmail()];
      for (const email of [first, second]) ok(await browser(app).signUp({ email, password }));
      const { code } = await mailbox.next(first);
      const shown = { email: first.toUpperCase(), token: code, type: "email" } as const;
      sessionOf(ok(await browser(app).verifyOtp(shown)));
      assert.deepEqual(refusalOf(await browser(app).verifyOtp(shown)), wrongCode);

      const { tokenHash } = await mailbox.next(second);
      const hash = { token_hash: tokenHash, type: "signup" } as const;
      const wrongType = await browser(app).verifyOtp({ ...hash, type: "recovery" });
      assert.deepEqual(refusalOf(wrongType), [403, "otp_expired", "Email link is invalid or has expired"]);
      sessionOf(ok(await browser(app).verifyOtp(hash)));
      assert.equal((await browser(app).verifyOtp(hash)).error?.code, "otp_expired");
    });

    test("another person's code, another link's kind and an older mail are good for nothing", async () => {
      const [ann, bob] = [newEmail(), newEmail()];
      const client = browser(app);
      for (const email of [ann, bob]) ok(await client.signUp({ email, password }));
      const [forAnn, forBob] = [await mailbox.next(ann), await mailbox.next(bob)];
      if (forAnn.code !== forBob.code) {
        const crossed = await client.verifyOtp({ email: ann, token: forBob.code, type: "signup" });
        assert.deepEqual(refusalOf(crossed), wrongCode);
      }
      ok(await client.resend({ type: "signup", email: ann }));
      const newer = await mailbox.next(ann);
      assert.deepEqual(fragmentOf(await landingOf(forAnn.link)), deadLink, "a newer one took its place");
      const disguised = newer.link.replace("type=signup", "type=magiclink");
      assert.deepEqual(fragmentOf(await landingOf(disguised)), deadLink);
      assert.equal(await follow(client, newer.link), "signup");
      assert.equal(ok(await client.getUser()).user.email, ann);
    });

    test("two who follow one link at the same time: one is let in", async () => {
      const email = newEmail();
      ok(await browser(app).signUp({ email, password }));
      const { link } = await mailbox.next(email);
      const landings = await Promise.all(Array.from({ length: 5 }, () => landingOf(link)));
      assert.equal(landings.filter((landing) => fragmentOf(landing)["access_token"]).length, 1);
    });

    test("a mail program that looks at a link beforehand uses nothing up", async () => {
      const email = newEmail();
      ok(await browser(app).signUp({ email, password }));
      const { link } = await mailbox.next(email);
      const looked = await fetch(link, { method: "HEAD", redirect: "manual" });
      assert.equal(looked.status, 303);
      assert.equal(new URL(looked.headers.get("location") ?? "").hash, "");
      assert.equal(await follow(browser(app), link), "signup");
    });

    test("a later sign-up replaces an unconfirmed one", async () => {
      const email = newEmail();
      const stranger = { email, password: "stranger's horse", options: { data: { name: "Eve" } } };
      const first = ok(await browser(app).signUp(stranger));
      const owner = { email, password, options: { data: { nickname: "Ann" } } };
      const second = ok(await browser(app).signUp(owner));
      assert.notEqual(second.user?.id, first.user?.id, "as for an address that is confirmed");
      assert.equal(second.user?.user_metadata["name"], undefined, "the answer shows nothing of the first");
      assert.equal(second.user?.user_metadata["nickname"], "Ann");
      const [old, newer] = [await mailbox.next(email), await mailbox.next(email)];
      assert.deepEqual(fragmentOf(await landingOf(old.link)), deadLink);
      const client = browser(app);
      await follow(client, newer.link);
      const { user } = ok(await client.getUser());
      assert.equal(user.user_metadata["name"], undefined);
      assert.equal(user.user_metadata["sub"], user.id);
      await another(app, email);
      assert.equal(await strangersSignIn(email), "invalid_credentials");
    });

    test("a mailed code drops the password and metadata of a stranger's sign-up", async () => {
      const proofs = [
        async (client: Client, email: string) => {
          ok(await client.signInWithOtp({ email }));
          const { code } = await mailbox.next(email);
          ok(await client.verifyOtp({ email, token: code, type: "email" }));
        },
        async (client: Client, email: string) => {
          ok(await client.resetPasswordForEmail(email));
          await follow(client, (await mailbox.next(email)).link);
        },
      ];
      for (const prove of proofs) {
        const email = newEmail();
        const data = { name: "Eve" };
        ok(await browser(app).signUp({ email, password: "stranger's horse", options: { data } }));
        await mailbox.next(email);
        const client = browser(app);
        await prove(client, email);
        const { user } = ok(await client.getUser());
        assert.equal(user.user_metadata["name"], undefined);
        assert.equal(user.user_metadata["email_verified"], true);
        assert.equal(await strangersSignIn(email), "invalid_credentials");
        ok(await client.updateUser({ password }));
        await another(app, email);
      }
    });

    test("a failed sign-in leaves a line with its address and reason in the log", async () => {
      const email = await confirmed(app, mailbox);
      assert.ok((await browser(app).signInWithPassword({ email, password: "wrong horse" })).error);
      const lines = app.log().split("\n");
      const line = lines.find((one) => one.includes("sign-in failed") && one.includes("wrong password"));
      assert.match(
        line ?? "",
        /"message":"sign-in failed","client_address":"127\.0\.0\.1","reason":"wrong password"/,
      );
      assert.ok(!app.log().includes(email));
    });

    async function strangersSignIn(email: string): Promise<string | undefined> {
      const { error } = await browser(app).signInWithPassword({ email, password: "stranger's horse" });
      return error?.code;
    }

    test("an address with an account is answered like a new one, and its owner told", async () => {
      const email = await confirmed(app, mailbox);
      const data = { name: "Eve" };
      const known = ok(await browser(app).signUp({ email, password: "another horse", options: { data } }));
      const fresh = ok(
        await browser(app).signUp({ email: newEmail(), password: "another horse", options: { data } }),
      );
      const keys = (value: object | null) => Object.keys(value ?? {}).toSorted();
      assert.equal(known.session, null);
      assert.deepEqual(keys(known.user), keys(fresh.user));
      assert.deepEqual(keys(known.user?.user_metadata ?? null), keys(fresh.user?.user_metadata ?? null));
      assert.equal(known.user?.identities?.length, 1, "also where the reference server tells them apart");
      const again = ok(await browser(app).signUp({ email, password: "another horse" }));
      assert.notEqual(again.user?.id, known.user?.id, "a person who does not exist");
      const mail = await mailbox.next(email);
      assert.equal(mail.subject, "You already have an account");
      assert.equal(new URL(mail.link).origin, app.url);
      await another(app, email);
    });
  });
}
