import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { databases, startApp, type TestApp } from "./app.ts";
import { browser, type Client, newEmail, ok, password } from "./auth-browser.ts";
import { confirmed } from "./mailed.ts";
import { Mailbox } from "./mailbox.ts";
import { totp } from "./totp.ts";

const chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/131.0.0.0 Safari/537.36";
const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0";

/** Returns a client that says it is another browser. */
function device(app: TestApp, userAgent: string): Client {
  return browser(app, (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("user-agent", userAgent);
    return fetch(input, { ...init, headers });
  });
}

for (const database of databases) {
  describe(`notices of what happened to an account, on ${database}`, { concurrency: true }, () => {
    let mailbox: Mailbox;
    let app: TestApp;
    before(async () => {
      mailbox = await Mailbox.open();
      app = await startApp({ database, env: { ...mailbox.env, CHAT_SECURITY_EMAILS: "on" } });
    });
    after(async () => {
      await app.stop();
      await mailbox.close();
    });

    test("a sign-in with a new device is told, and one with a newer version of the same browser is not", async () => {
      const email = await confirmed(app, mailbox, device(app, chrome));
      ok(await device(app, chrome.replace("131", "132")).signInWithPassword({ email, password }));
      ok(await device(app, firefox).signInWithPassword({ email, password }));
      const mail = await mailbox.next(email);
      assert.equal(mail.subject, "New sign-in");
      assert.match(mail.text, /Firefox on Linux, at the network address (127\.0\.0\.1|::1)\./u);
      assert.equal(mail.link, `${app.url}/?settings=security`);
      assert.ok(mail.html.includes("Firefox on Linux"));
      ok(await device(app, firefox).signInWithPassword({ email, password }));
      ok(await device(app, chrome).signInWithPassword({ email, password }));
      const client = device(app, "curl/8");
      ok(await client.signInWithPassword({ email, password }));
      const next = await mailbox.next(email);
      assert.match(next.text, /: an unknown program, at/u, "the known ones were not told");
    });

    test("a changed password, an authenticator, recovery codes and a changed address are told", async () => {
      const client = browser(app);
      const email = await confirmed(app, mailbox, client);
      ok(await client.updateUser({ password: "another horse" }));
      assert.equal((await mailbox.next(email)).subject, "Your password was changed");

      const { id, totp: factor } = ok(await client.mfa.enroll({ factorType: "totp", friendlyName: "phone" }));
      assert.ok("secret" in factor);
      ok(await client.mfa.challengeAndVerify({ factorId: id, code: await totp(factor.secret) }));
      assert.equal((await mailbox.next(email)).subject, "An authenticator was added");
      const { codes } = ok(await client.mfa.recoveryCodes.generate());
      assert.equal((await mailbox.next(email)).subject, "Recovery codes were created");
      ok(await client.mfa.recoveryCodes.verify({ code: codes[0] ?? "" }));
      const used = await mailbox.next(email);
      assert.equal(used.subject, "A recovery code was used");
      assert.match(used.text, /Unused codes that are left: 9\./u);
      assert.ok(codes.every((code) => !used.text.includes(code)));
      ok(await client.mfa.recoveryCodes.unenroll());
      assert.equal((await mailbox.next(email)).subject, "Recovery codes were removed");
      // The session was raised with a code, so it has to be raised again.
      ok(await client.mfa.challengeAndVerify({ factorId: id, code: await totp(factor.secret, 1) }));
      ok(await client.mfa.unenroll({ factorId: id }));
      assert.equal((await mailbox.next(email)).subject, "An authenticator was removed");

      const other = newEmail();
      ok(await client.updateUser({ email: other }));
      const confirmation = await mailbox.next(other);
      const agreement = await mailbox.next(email);
      ok(await client.verifyOtp({ email, token: agreement.code, type: "email_change" }));
      ok(await client.verifyOtp({ email: other, token: confirmation.code, type: "email_change" }));
      const notice = await mailbox.next(email);
      assert.equal(notice.subject, "Your email address was changed");
      assert.ok(notice.text.includes(`was changed to ${other}`));
      assert.deepEqual(mailbox.unread(other), []);
    });
  });
}
