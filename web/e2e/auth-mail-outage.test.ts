import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { databases, startApp, type TestApp } from "./app.ts";
import { another, browser, newEmail, ok, password } from "./auth-browser.ts";
import { confirmed, follow, refusalOf } from "./mailed.ts";
import { Mailbox } from "./mailbox.ts";

const paused = "For security purposes, you can only request this after";

for (const database of databases) {
  describe(`a mail server that is away, on ${database}`, () => {
    let mailbox: Mailbox;
    let app: TestApp;
    before(async () => {
      mailbox = await Mailbox.open();
      // The limits are on: a mail that was not sent must not make anybody wait.
      app = await startApp({ database, env: { ...mailbox.env, CHAT_RATE_LIMITS: "on" } });
    });
    after(async () => {
      await app.stop();
      await mailbox.close();
    });

    test("is told alike for every address, and nothing half-made remains", async () => {
      const client = browser(app);
      const known = await confirmed(app, mailbox, client);
      const unknown = newEmail();
      const refused = (what: string) => [500, undefined, `Error sending ${what} email`];
      const answer = async (path: string, body: object, method = "POST") => {
        const { access_token } = ok(await client.getSession()).session ?? {};
        const response = await fetch(`${app.url}/auth/v1${path}`, {
          method,
          headers: { authorization: `Bearer ${access_token}` },
          ...(method === "GET" ? {} : { body: JSON.stringify(body) }),
        });
        const { error_code, message } = (await response.json()) as { error_code?: string; message?: string };
        assert.equal(error_code, response.status === 500 ? "unexpected_failure" : error_code);
        return [response.status, undefined, message];
      };
      await mailbox.goDown();
      for (const email of [known, unknown]) {
        const credentials = { email, password };
        // For the known address the pause of its confirmation is not over yet.
        if (email === unknown)
          assert.deepEqual(await answer("/signup", credentials), refused("confirmation"));
        assert.deepEqual(await answer("/recover", { email }), refused("recovery"));
        assert.deepEqual(await answer("/otp", { email }), refused("magic link"));
      }
      assert.deepEqual(await answer("/user", { email: newEmail() }, "PUT"), refused("email change"));
      assert.deepEqual(await answer("/reauthenticate", {}, "GET"), refused("reauthentication"));
      assert.equal(ok(await client.getUser()).user.new_email, undefined);
      const log = app.log();
      assert.ok(log.includes("Error sending recovery email: the mail server cannot be reached"), log);
      assert.ok(!log.includes(known) && !log.includes(unknown));

      await mailbox.comeBack();
      const made = ok(await browser(app).signUp({ email: unknown, password: "another horse" }));
      assert.equal(made.user?.identities?.length, 1);
      await follow(browser(app), (await mailbox.next(unknown)).link);
      ok(await browser(app).signInWithPassword({ email: unknown, password: "another horse" }));
      ok(await browser(app).resetPasswordForEmail(known));
      assert.equal((await mailbox.next(known)).subject, "Choose a new password");
      assert.deepEqual(mailbox.unread(unknown), []);
    });

    test("a letter that the mail server refuses makes no account", async () => {
      const email = newEmail();
      mailbox.refuse(email);
      const refused = await browser(app).signUp({ email, password });
      assert.equal(refused.error?.status, 500);
      const wrong = await browser(app).signInWithPassword({ email, password });
      assert.equal(wrong.error?.code, "invalid_credentials", "there is no such account");
      assert.ok(!app.log().includes(email));
    });

    test("a minute passes between two mails, whether or not there is an account", async () => {
      const [known, unknown] = [await confirmed(app, mailbox), newEmail()];
      const answers: unknown[] = [];
      for (const email of [known, unknown]) {
        ok(await browser(app).resetPasswordForEmail(email));
        const refused = await browser(app).resetPasswordForEmail(email);
        const [status, code, message] = refusalOf(refused);
        answers.push([status, code, String(message).replace(/ \d+ seconds\.$/, "")]);
        const link = await fetch(`${app.url}/auth/v1/otp`, {
          method: "POST",
          body: JSON.stringify({ email }),
        });
        assert.equal(link.status, 429, "a link to sign in with is the same kind of mail");
        const seconds = Number(link.headers.get("retry-after"));
        assert.ok(seconds > 0 && seconds <= 60, `${seconds}`);
      }
      const expected = [429, "over_email_send_rate_limit", paused];
      assert.deepEqual(answers, [expected, expected]);
      const again = await browser(app).signUp({ email: known, password });
      assert.equal(again.error?.code, "over_email_send_rate_limit");
      await another(app, known);
    });
  });
}

describe("accounts that are confirmed at once, with a mail server", () => {
  let mailbox: Mailbox;
  let app: TestApp;
  before(async () => {
    mailbox = await Mailbox.open();
    app = await startApp({ env: { ...mailbox.env, CHAT_AUTOCONFIRM: "on" } });
  });
  after(async () => {
    await app.stop();
    await mailbox.close();
  });

  test("nothing is mailed at sign-up, and a magic link makes an account", async () => {
    const client = browser(app);
    const email = newEmail();
    assert.ok(ok(await client.signUp({ email, password })).session);
    assert.deepEqual(mailbox.unread(email), []);
    const stranger = newEmail();
    ok(await browser(app).signInWithOtp({ email: stranger }));
    const { link } = await mailbox.next(stranger);
    assert.equal(await follow(browser(app), link), "magiclink");
    ok(await client.updateUser({ email: newEmail() }));
    assert.equal(ok(await client.getUser()).user.email, email, "a change of address is mailed all the same");
  });
});
