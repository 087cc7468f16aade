import { GoTrueAdminApi } from "@supabase/auth-js";
import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { databases, startApp, type TestApp } from "./app.ts";
import { browser, newEmail, ok, password, sessionOf, signedUp } from "./auth-browser.ts";
import { codeOf } from "./authenticator.ts";
import { Mailbox } from "./mailbox.ts";

const key = "the service role key of these tests";

/** The administrator's client, with the key or another token. */
function administrator(app: TestApp, token = key): GoTrueAdminApi {
  return new GoTrueAdminApi({
    url: `${app.url}/auth/v1`,
    headers: { apikey: token, Authorization: `Bearer ${token}` },
    experimental: { passkey: true },
  });
}

const keyId = "the key of these tests";

/** A token that the operator signed, which belongs to no session. */
function signedToken(privateKey: KeyObject, claims: Record<string, unknown>): string {
  const encoded = [{ alg: "ES256", typ: "JWT", kid: keyId }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString("base64url"),
  );
  const input = encoded.join(".");
  const signature = sign("sha256", Buffer.from(input), { key: privateKey, dsaEncoding: "ieee-p1363" });
  return `${input}.${signature.toString("base64url")}`;
}

for (const database of databases) {
  describe(`the official admin client on ${database}`, { concurrency: true }, () => {
    let app: TestApp;
    let mailbox: Mailbox;
    let admin: GoTrueAdminApi;
    before(async () => {
      mailbox = await Mailbox.open();
      app = await startApp({
        database,
        env: { ...mailbox.env, CHAT_AUTOCONFIRM: "on", CHAT_SERVICE_ROLE_KEY: key },
      });
      admin = administrator(app);
    });
    after(async () => {
      await app.stop();
      await mailbox.close();
    });

    test("makes an account, changes it, and removes it", async () => {
      const email = newEmail();
      const user_metadata = { name: "Ann" };
      const made = ok(await admin.createUser({ email, password, email_confirm: true, user_metadata })).user;
      assert.equal(made.user_metadata["name"], "Ann");
      const client = browser(app);
      ok(await client.signInWithPassword({ email, password }));

      const address = newEmail();
      const changed = ok(
        await admin.updateUserById(made.id, { email: address, app_metadata: { team: "blue" } }),
      ).user;
      assert.equal(changed.email, address);
      assert.equal(changed.app_metadata["team"], "blue");
      assert.equal(ok(await admin.getUserById(made.id)).user.email, address);
      ok(await admin.updateUserById(made.id, { password: "another horse" }));
      assert.equal((await client.getUser()).error?.name, "AuthSessionMissingError");
      ok(await client.signInWithPassword({ email: address, password: "another horse" }));

      ok(await admin.deleteUser(made.id));
      assert.equal((await admin.getUserById(made.id)).error?.code, "user_not_found");
      const gone = (await client.signInWithPassword({ email: address, password: "another horse" })).error;
      assert.equal(gone?.code, "invalid_credentials");
    });

    test("empties an account and keeps its id", async () => {
      const { email, session } = await signedUp(browser(app));
      ok(await admin.deleteUser(session.user.id, true));
      const { user } = ok(await admin.getUserById(session.user.id));
      assert.ok(user.deleted_at);
      assert.ok(!JSON.stringify(user).includes(email));
      sessionOf(ok(await browser(app).signUp({ email, password })));
    });

    test("lists accounts page by page", async () => {
      const alone = await startApp({ database, env: { CHAT_SERVICE_ROLE_KEY: key } });
      const list = administrator(alone);
      for (let count = 0; count < 5; count++) ok(await list.createUser({ email: newEmail() }));
      const first = ok(await list.listUsers({ page: 1, perPage: 2 }));
      assert.deepEqual(
        [first.users.length, first.aud, first.nextPage, first.lastPage, first.total],
        [2, "authenticated", 2, 3, 5],
      );
      const last = ok(await list.listUsers({ page: 3, perPage: 2 }));
      assert.deepEqual([last.users.length, last.nextPage, last.lastPage], [1, null, 3]);
      assert.equal(ok(await list.listUsers()).users.length, 5);
      assert.equal((await list.listUsers({ page: -1 })).error?.code, "validation_failed");
      await alone.stop();
    });

    test("keeps a person out and lets them in again", async () => {
      const client = browser(app);
      const { email, session } = await signedUp(client);
      const { user } = ok(await admin.updateUserById(session.user.id, { ban_duration: "24h" }));
      assert.ok(user.banned_until);
      assert.equal((await client.getUser()).error?.code, "user_banned");
      assert.equal((await client.refreshSession()).error?.code, "user_banned");
      const refused = (await browser(app).signInWithPassword({ email, password })).error;
      assert.deepEqual([refused?.code, refused?.message], ["user_banned", "User is banned"]);
      ok(await admin.updateUserById(session.user.id, { ban_duration: "none" }));
      ok(await browser(app).signInWithPassword({ email, password }));
    });

    test("ends a person's sign-ins with their token", async () => {
      const client = browser(app);
      const { session } = await signedUp(client);
      assert.equal((await admin.signOut(session.access_token)).error, null);
      assert.equal((await client.getUser()).error?.name, "AuthSessionMissingError");
    });

    test("takes a second factor from a person who lost it", async () => {
      const client = browser(app);
      const { session } = await signedUp(client);
      const userId = session.user.id;
      const { id, totp } = ok(await client.mfa.enroll({ factorType: "totp", friendlyName: "phone" }));
      ok(await client.mfa.challengeAndVerify({ factorId: id, code: codeOf(totp.secret) }));
      const { factors } = ok(await admin.mfa.listFactors({ userId }));
      assert.deepEqual(
        factors.map((factor) => [factor.id, factor.factor_type, factor.status, factor.friendly_name]),
        [[id, "totp", "verified", "phone"]],
      );
      ok(await admin.mfa.deleteFactor({ userId, id }));
      assert.deepEqual(ok(await admin.mfa.listFactors({ userId })).factors, []);
      const missing = await admin.mfa.deleteFactor({ userId, id });
      assert.equal(missing.error?.code, "mfa_factor_not_found");
    });

    test("makes links that do what they say", async () => {
      const email = newEmail();
      const signup = ok(
        await admin.generateLink({ type: "signup", email, password, options: { data: { a: 1 } } }),
      );
      assert.match(signup.properties.action_link, /\/auth\/v1\/verify\?token=.*&type=signup&redirect_to=/);
      assert.deepEqual(signup.user.user_metadata, { a: 1 });
      const token_hash = signup.properties.hashed_token;
      sessionOf(ok(await browser(app).verifyOtp({ type: "signup", token_hash })));
      ok(await browser(app).signInWithPassword({ email, password }));

      const magic = ok(await admin.generateLink({ type: "magiclink", email })).properties;
      sessionOf(ok(await browser(app).verifyOtp({ type: "magiclink", email, token: magic.email_otp })));
      const recovery = ok(await admin.generateLink({ type: "recovery", email })).properties;
      const landed = await fetch(recovery.action_link, { redirect: "manual" });
      assert.equal(landed.status, 303);
      assert.match(landed.headers.get("location") ?? "", /#access_token=.*type=recovery/);

      const newAddress = newEmail();
      const changes = [
        ok(await admin.generateLink({ type: "email_change_current", email, newEmail: newAddress })),
        ok(await admin.generateLink({ type: "email_change_new", email, newEmail: newAddress })),
      ];
      for (const { properties } of changes) {
        ok(await browser(app).verifyOtp({ type: "email_change", token_hash: properties.hashed_token }));
      }
      ok(await browser(app).signInWithPassword({ email: newAddress, password }));
      const unknown = (await admin.generateLink({ type: "recovery", email: newEmail() })).error;
      assert.equal(unknown?.code, "user_not_found");
    });

    test("invites a person by mail", async () => {
      const email = newEmail();
      const { user } = ok(await admin.inviteUserByEmail(email, { data: { team: "blue" } }));
      assert.ok(user.invited_at);
      assert.deepEqual(user.user_metadata, { team: "blue" });
      const mail = await mailbox.next(email);
      const landed = await fetch(mail.link, { redirect: "manual" });
      assert.match(landed.headers.get("location") ?? "", /#access_token=.*type=invite/);
      assert.ok(ok(await admin.getUserById(user.id)).user.email_confirmed_at);
      assert.equal((await admin.inviteUserByEmail(email)).error?.code, "email_exists");
    });

    test("a failed invitation leaves nothing behind", async () => {
      const email = newEmail();
      mailbox.refuse(email);
      assert.ok((await admin.inviteUserByEmail(email)).error);
      const { users } = ok(await admin.listUsers({ perPage: 1000 }));
      assert.ok(!users.some((user) => user.email === email));
    });

    test("is told what this server does not offer", async () => {
      const { session } = await signedUp(browser(app));
      assert.deepEqual(ok(await admin.passkey.listPasskeys({ userId: session.user.id })), []);
      assert.equal((await admin.oauth.listClients()).error?.code, "feature_disabled");
      assert.equal((await admin.customProviders.listProviders()).error?.code, "feature_disabled");
    });

    test("accepts signed tokens of the administrators' roles", async () => {
      const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
      const stranger = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
      const folder = await mkdtemp(join(tmpdir(), "ai-chat-mcp-keys-"));
      const keys = join(folder, "keys.json");
      await writeFile(keys, JSON.stringify({ ...privateKey.export({ format: "jwk" }), kid: keyId }));
      const open = await startApp({ database, env: { CHAT_JWT_KEYS: keys, CHAT_SERVICE_ROLE_KEY: key } });
      const shut = await startApp({ database, env: { CHAT_JWT_KEYS: keys } });
      const refusalOf = async (server: TestApp, token: string) => {
        const { error } = await administrator(server, token).listUsers();
        return error && [error.status, error.code];
      };
      const exp = Math.floor(Date.now() / 1000) - 1;
      for (const role of ["service_role", "supabase_admin"]) {
        assert.equal(await refusalOf(open, signedToken(privateKey, { role })), null);
        assert.deepEqual(await refusalOf(open, signedToken(privateKey, { role, exp })), [403, "bad_jwt"]);
        assert.deepEqual(await refusalOf(open, signedToken(stranger, { role })), [403, "bad_jwt"]);
        assert.deepEqual(await refusalOf(shut, signedToken(privateKey, { role })), [403, "not_admin"]);
      }
      for (const role of ["anon", "authenticated", "admin"]) {
        assert.deepEqual(await refusalOf(open, signedToken(privateKey, { role })), [403, "not_admin"]);
      }
      await open.stop();
      await shut.stop();
      await rm(folder, { recursive: true });
    });

    test("nobody else is the administrator", async () => {
      const { session } = await signedUp(browser(app));
      const id = session.user.id;
      const person = await administrator(app, session.access_token).getUserById(id);
      assert.deepEqual([person.error?.status, person.error?.code], [403, "not_admin"]);
      const stranger = await administrator(app, "sb_publishable_test").deleteUser(id);
      assert.deepEqual([stranger.error?.status, stranger.error?.code], [403, "bad_jwt"]);
      const shut = await startApp({ database });
      const refused = await administrator(shut).listUsers();
      assert.deepEqual([refused.error?.status, refused.error?.code], [403, "bad_jwt"]);
      await shut.stop();
    });
  });
}
