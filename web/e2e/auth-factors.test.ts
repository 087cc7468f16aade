import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { databases, startApp, type TestApp } from "./app.ts";
import { another, browser, type Client, ok, password, sessionOf, signedUp } from "./auth-browser.ts";
import { codeOf } from "./authenticator.ts";

/** Sets up an authenticator and submits its first code; the client continues at aal2. */
async function protect(client: Client): Promise<{ factorId: string; secret: string; code: string }> {
  const { id, totp } = ok(await client.mfa.enroll({ factorType: "totp", friendlyName: "phone" }));
  const code = codeOf(totp.secret);
  ok(await client.mfa.challengeAndVerify({ factorId: id, code }));
  return { factorId: id, secret: totp.secret, code };
}

async function levelOf(client: Client) {
  const level = ok(await client.mfa.getAuthenticatorAssuranceLevel());
  const methods = level.currentAuthenticationMethods.map((proof) =>
    typeof proof === "string" ? proof : proof.method,
  );
  return { current: level.currentLevel, next: level.nextLevel, methods };
}

for (const database of databases) {
  describe(`second factors with the official client on ${database}`, { concurrency: true }, () => {
    let app: TestApp;
    before(async () => {
      app = await startApp({ database });
    });
    after(async () => {
      await app.stop();
    });

    test("an authenticator app is set up with a picture and its first code", async () => {
      const client = browser(app);
      const { email } = await signedUp(client);
      const enrolled = ok(
        await client.mfa.enroll({ factorType: "totp", friendlyName: "phone", issuer: "My chat" }),
      );
      assert.match(enrolled.totp.qr_code, /^data:image\/svg\+xml;utf-8,<svg [^#]*<\/svg>$/);
      const uri = new URL(enrolled.totp.uri);
      assert.equal(decodeURIComponent(uri.pathname), `/My chat:${email}`);
      assert.equal(uri.searchParams.get("secret"), enrolled.totp.secret);
      assert.equal(uri.searchParams.get("issuer"), "My chat");
      const begun = ok(await client.mfa.listFactors());
      assert.deepEqual([begun.all.length, begun.totp.length], [1, 0]);
      assert.deepEqual(await levelOf(client), { current: "aal1", next: "aal1", methods: ["password"] });

      const challenge = ok(await client.mfa.challenge({ factorId: enrolled.id }));
      assert.equal(challenge.type, "totp");
      const events: string[] = [];
      client.onAuthStateChange((event) => void events.push(event));
      const answer = { factorId: enrolled.id, challengeId: challenge.id, code: codeOf(enrolled.totp.secret) };
      assert.equal(ok(await client.mfa.verify(answer)).token_type, "bearer");
      assert.ok(events.includes("MFA_CHALLENGE_VERIFIED"), events.join());
      assert.deepEqual(await levelOf(client), {
        current: "aal2",
        next: "aal2",
        methods: ["totp", "password"],
      });
      assert.equal(ok(await client.mfa.listFactors()).totp[0]?.friendly_name, "phone");
      sessionOf(ok(await client.refreshSession()));
      assert.equal((await levelOf(client)).current, "aal2");
      const claims = ok(await client.getClaims())?.claims;
      assert.equal(claims?.aal, "aal2");
    });

    test("a sign-in elsewhere needs the code before it opens the chat", async () => {
      const client = browser(app);
      const { email } = await signedUp(client);
      const { factorId, secret, code } = await protect(client);
      const there = await another(app, email);
      assert.deepEqual(await levelOf(there), { current: "aal1", next: "aal2", methods: ["password"] });
      const rows = async () => {
        const token = sessionOf(ok(await there.getSession())).access_token;
        return fetch(`${app.url}/rest/v1/ai_chat_sessions`, {
          headers: { authorization: `Bearer ${token}` },
        });
      };
      const refused = await rows();
      assert.deepEqual([refused.status, ((await refused.json()) as { code: string }).code], [403, "42501"]);
      assert.equal((await there.updateUser({ password: "another horse" })).error?.code, "insufficient_aal");
      assert.equal((await there.mfa.unenroll({ factorId })).error?.code, "insufficient_aal");

      const used = (await there.mfa.challengeAndVerify({ factorId, code })).error;
      assert.deepEqual([used?.code, used?.status], ["mfa_verification_failed", 422], "a code is good once");
      ok(await there.mfa.challengeAndVerify({ factorId, code: codeOf(secret, 1) }));
      assert.equal((await rows()).status, 200);
      ok(await client.getUser());
    });

    test("the first code ends the sign-ins that never showed one", async () => {
      const client = browser(app);
      const { email } = await signedUp(client);
      const other = await another(app, email);
      await protect(client);
      assert.equal((await other.getUser()).error?.name, "AuthSessionMissingError");
    });

    test("a factor is removed with its own level, and a password is enough again", async () => {
      const client = browser(app);
      const { email } = await signedUp(client);
      const { factorId } = await protect(client);
      assert.equal(ok(await client.mfa.unenroll({ factorId })).id, factorId);
      sessionOf(ok(await client.refreshSession()));
      assert.deepEqual(await levelOf(client), { current: "aal1", next: "aal1", methods: ["password"] });
      const again = await another(app, email);
      ok(await again.updateUser({ password: "another horse" }));
    });

    test("what is wrong is said in the protocol's words", async () => {
      const client = browser(app);
      await signedUp(client);
      const { id, totp } = ok(await client.mfa.enroll({ factorType: "totp", friendlyName: "phone" }));
      const twice = (await client.mfa.enroll({ factorType: "totp", friendlyName: "phone" })).error;
      assert.deepEqual([twice?.code, twice?.status], ["mfa_factor_name_conflict", 422]);
      const wrong = (await client.mfa.challengeAndVerify({ factorId: id, code: codeOf(totp.secret, 40) }))
        .error;
      assert.deepEqual(
        [wrong?.code, wrong?.message],
        ["mfa_verification_failed", "Invalid TOTP code entered"],
      );
      const unknown = (await client.mfa.challenge({ factorId: crypto.randomUUID() })).error;
      assert.deepEqual([unknown?.code, unknown?.status], ["mfa_factor_not_found", 404]);
      const phone = (await client.mfa.enroll({ factorType: "phone", phone: "+4912345678" })).error;
      assert.deepEqual([phone?.code, phone?.status], ["mfa_phone_enroll_not_enabled", 422]);
      const key = ok(await client.mfa.enroll({ factorType: "webauthn", friendlyName: "key" }));
      const webauthn = { rpId: "example.com", rpOrigins: ["https://example.com"] };
      const elsewhere = (await client.mfa.challenge({ factorId: key.id, webauthn })).error;
      assert.deepEqual([elsewhere?.code, elsewhere?.status], ["validation_failed", 400]);
    });

    test("what is not offered says so", async () => {
      const client = browser(app);
      await signedUp(client);
      const linked = (
        await client.linkIdentity({ provider: "github", options: { skipBrowserRedirect: true } })
      ).error;
      assert.deepEqual([linked?.code, linked?.status], ["manual_linking_disabled", 404]);
      const identity = ok(await client.getUserIdentities())?.identities[0];
      assert.ok(identity);
      assert.equal((await client.unlinkIdentity(identity)).error?.code, "manual_linking_disabled");
      const sso = (await client.signInWithSSO({ domain: "example.com" })).error;
      assert.deepEqual([sso?.code, sso?.status], ["saml_provider_disabled", 404]);
      const token = (await client.signInWithIdToken({ provider: "google", token: "x" })).error;
      assert.deepEqual([token?.code, token?.status], ["provider_disabled", 400]);
      const grants = (await client.oauth.listGrants()).error;
      assert.deepEqual([grants?.code, grants?.status], ["feature_disabled", 404]);
    });

    test("the e-mail identity is whole", async () => {
      const client = browser(app);
      const { email, session } = await signedUp(client);
      const identity = ok(await client.getUserIdentities())?.identities[0];
      assert.deepEqual(
        [identity?.provider, identity?.id, identity?.user_id, identity?.identity_data?.["email"]],
        ["email", session.user.id, session.user.id, email],
      );
      assert.deepEqual(session.user.app_metadata, { provider: "email", providers: ["email"] });
      ok(await client.signInWithPassword({ email, password }));
    });
  });
}
