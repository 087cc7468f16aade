import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { databases, startApp, type TestApp } from "./app.ts";
import { browser, newEmail, ok, password } from "./auth-browser.ts";
import { confirmed, deadLink, fragmentOf, landingOf, methodOf, pkceBrowser } from "./mailed.ts";
import { Mailbox } from "./mailbox.ts";

for (const database of databases) {
  describe(`where mailed links lead, on ${database}`, { concurrency: true }, () => {
    let mailbox: Mailbox;
    let app: TestApp;
    before(async () => {
      mailbox = await Mailbox.open();
      app = await startApp({
        database,
        env: { ...mailbox.env, CHAT_REDIRECT_ALLOW: "https://app.example.org/**" },
      });
    });
    after(async () => {
      await app.stop();
      await mailbox.close();
    });

    test("with PKCE a link ends in the browser that asked for it", async () => {
      const client = pkceBrowser(app);
      const email = newEmail();
      ok(await client.signUp({ email, password }));
      const { link } = await mailbox.next(email);
      const landing = await landingOf(link);
      assert.equal(landing.hash, "");
      const code = landing.searchParams.get("code") ?? "";
      const stolen = await pkceBrowser(app).exchangeCodeForSession(code);
      assert.notEqual(stolen.error, null);
      const { session } = ok(await client.exchangeCodeForSession(code));
      assert.equal(session.user.email, email);
      assert.equal(await methodOf(client), "email/signup");
      const used = await landingOf(link);
      const { sb, ...told } = deadLink;
      assert.deepEqual([Object.fromEntries(used.searchParams), fragmentOf(used)], [told, { ...told, sb }]);
    });

    test("with PKCE a code is exchanged once, with its own verifier", async () => {
      const email = await confirmed(app, mailbox);
      const client = pkceBrowser(app);
      ok(await client.resetPasswordForEmail(email));
      const landing = await landingOf((await mailbox.next(email)).link);
      const auth_code = landing.searchParams.get("code");
      const exchange = async (body: object) => {
        const answer = await fetch(`${app.url}/auth/v1/token?grant_type=pkce`, {
          method: "POST",
          body: JSON.stringify(body),
        });
        return [answer.status, ((await answer.json()) as { error_code?: string }).error_code];
      };
      assert.deepEqual(await exchange({ auth_code }), [400, "validation_failed"]);
      const verifier = "v".repeat(43);
      assert.deepEqual(await exchange({ auth_code, code_verifier: verifier }), [400, "bad_code_verifier"]);
      assert.deepEqual(await exchange({ auth_code: "x", code_verifier: verifier }), [
        404,
        "flow_state_not_found",
      ]);
      const { session } = ok(await client.exchangeCodeForSession(auth_code ?? ""));
      assert.equal(session.user.email, email);
      assert.deepEqual(await exchange({ auth_code, code_verifier: verifier }), [404, "flow_state_not_found"]);
    });

    test("a link leads to the site, to what is allowed, and to nobody else", async () => {
      const email = await confirmed(app, mailbox);
      const targets = [
        ["https://app.example.org/a?b=c", "https://app.example.org/a?b=c"],
        [`${app.url}/auth`, `${app.url}/auth`],
        ["https://evil.example.com/", `${app.url}/`],
        ["", `${app.url}/`],
      ] as const;
      for (const [redirectTo, leads] of targets) {
        ok(await browser(app).signInWithOtp({ email, options: { emailRedirectTo: redirectTo } }));
        const { link } = await mailbox.next(email);
        const url = new URL(link);
        url.searchParams.set("redirect_to", "https://evil.example.com/");
        assert.equal(new URL(link).searchParams.get("redirect_to"), leads);
        const bent = await fetch(url, { method: "HEAD", redirect: "manual" });
        assert.equal(bent.headers.get("location"), `${app.url}/`, "a link that was bent leads to the site");
        assert.equal((await landingOf(link)).href.split("#")[0], leads);
      }
    });

    test("what is wrong with a request is said in the protocol's words", async () => {
      const post = async (path: string, body: object) => {
        const init = { method: "POST", body: JSON.stringify(body) };
        const answer = await fetch(`${app.url}/auth/v1${path}`, init);
        const { message } = (await answer.json()) as { message: string };
        return [answer.status, message];
      };
      const table: [string, object, number, string][] = [
        ["/recover", {}, 400, "Password recovery requires an email"],
        ["/recover", { email: "x" }, 400, "Unable to validate email address: invalid format"],
        [
          "/recover",
          { email: "a@b.c", code_challenge: "x" },
          400,
          "PKCE flow requires code_challenge_method and code_challenge",
        ],
        ["/otp", {}, 400, "One of email or phone must be set"],
        [
          "/otp",
          { email: "a@b.c", phone: "1" },
          400,
          "Only an email address or phone number should be provided",
        ],
        ["/otp", { phone: "123456789" }, 400, "Unsupported phone provider"],
        [
          "/resend",
          { email: "a@b.c" },
          400,
          "Missing one of these types: signup, email_change, sms, phone_change",
        ],
        ["/resend", { type: "signup" }, 400, "Type provided requires an email address"],
        ["/verify", { token: "1" }, 400, "Verify requires a verification type"],
        ["/verify", { type: "signup" }, 400, "Verify requires either a token or a token hash"],
        [
          "/verify",
          { type: "signup", token: "1" },
          400,
          "Only an email address or phone number should be provided on verify",
        ],
        ["/verify", { type: "signup", token: "1", email: "x" }, 422, "Invalid email format"],
        ["/verify", { type: "x", token_hash: "1" }, 400, "Invalid email verification type"],
        [
          "/verify",
          { type: "signup", token_hash: "1", email: "a@b.c" },
          400,
          "Only the token_hash and type should be provided",
        ],
        [
          "/verify",
          { type: "sms", token: "1", phone: "1" },
          400,
          "Invalid phone number format (E.164 required)",
        ],
        ["/verify", { type: "sms", token: "1", phone: "123456789" }, 403, "Token has expired or is invalid"],
      ];
      for (const [path, body, status, message] of table) {
        assert.deepEqual(await post(path, body), [status, message], `${path} ${JSON.stringify(body)}`);
      }
      const bare = await fetch(`${app.url}/auth/v1/verify?type=signup`, { redirect: "manual" });
      assert.equal(bare.status, 400);
    });
  });
}
