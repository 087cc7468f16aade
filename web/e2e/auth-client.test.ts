import type { AuthChangeEvent, Session } from "@supabase/auth-js";
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { databases, startApp, type TestApp } from "./app.ts";
import { another, browser, newEmail, ok, password, sessionOf, signedUp } from "./auth-browser.ts";

/** Time for which a rotated refresh token is still accepted, in milliseconds, with a margin. */
const reuseInterval = 10_500;

function tokensOf(session: Session) {
  return { access_token: session.access_token, refresh_token: session.refresh_token };
}

for (const database of databases) {
  describe(`the official auth client on ${database}`, { concurrency: true }, () => {
    let app: TestApp;
    before(async () => {
      app = await startApp({ database });
    });
    after(async () => {
      await app.stop();
    });

    test("signs up, and in again elsewhere", async () => {
      const here = browser(app);
      const email = newEmail();
      const options = { emailRedirectTo: app.url, data: { name: "Ann" } };
      const made = sessionOf(ok(await here.signUp({ email, password, options })));
      assert.equal(made.user.email, email);
      assert.equal(made.user.user_metadata["name"], "Ann");
      assert.equal(made.user.identities?.length, 1);
      assert.equal(made.token_type, "bearer");

      const there = browser(app);
      const { user } = ok(await there.signInWithPassword({ email, password }));
      assert.equal(user?.id, made.user.id);
      assert.equal(ok(await there.getUser()).user.id, made.user.id);
      assert.deepEqual(ok(await there.mfa.listFactors()).all, []);
      const level = ok(await there.mfa.getAuthenticatorAssuranceLevel());
      assert.equal(level.currentLevel, "aal1");
    });

    test("tells a person what is wrong", async () => {
      const client = browser(app);
      const { email } = await signedUp(browser(app));
      const wrong = (await client.signInWithPassword({ email, password: "wrong" })).error;
      assert.deepEqual(
        [wrong?.message, wrong?.code, wrong?.status],
        ["Invalid login credentials", "invalid_credentials", 400],
      );
      const taken = (await client.signUp({ email, password })).error;
      assert.deepEqual([taken?.message, taken?.code], ["User already registered", "user_already_exists"]);
      const weak = (await client.signUp({ email: newEmail(), password: "12345" })).error;
      assert.equal(weak?.name, "AuthWeakPasswordError");
      assert.equal(weak?.message, "Password should be at least 6 characters.");
      assert.deepEqual((weak as unknown as { reasons: string[] }).reasons, ["length"]);
      const anonymous = (await client.signInAnonymously()).error;
      assert.equal(anonymous?.code, "anonymous_provider_disabled");
      const mail = (await client.resetPasswordForEmail(email)).error;
      assert.equal(mail?.code, "email_provider_disabled");
      assert.equal((await client.signInWithOtp({ email })).error?.code, "otp_disabled");
      const missing = (await client.getUser()).error;
      assert.deepEqual(
        [missing?.name, missing?.message],
        ["AuthSessionMissingError", "Auth session missing!"],
      );
      const invalid = (await client.getUser("not.a.token")).error;
      assert.deepEqual([invalid?.code, invalid?.status], ["bad_jwt", 403]);
      assert.match(invalid?.message ?? "", /^invalid JWT: /u);
    });

    test("refreshes in two browsers at once with the same token", async () => {
      const { session } = await signedUp(browser(app));
      const clients = [browser(app), browser(app), browser(app)];
      for (const client of clients) ok(await client.setSession(tokensOf(session)));
      const refreshed = await Promise.all(clients.map((client) => client.refreshSession()));
      const tokens = refreshed.map((result) => sessionOf(ok(result)).refresh_token);
      assert.equal(new Set(tokens).size, 1);
      assert.notEqual(tokens[0], session.refresh_token);
      for (const client of clients) sessionOf(ok(await client.refreshSession()));
    });

    test("survives an answer that is lost on the way", async () => {
      let lost = 0;
      const client = browser(app, async (input, init) => {
        const answer = await fetch(input, init);
        if (new Request(input).url.includes("grant_type=refresh_token") && lost++ === 0) {
          await answer.arrayBuffer();
          throw new TypeError("the network went away");
        }
        return answer;
      });
      const { session } = await signedUp(client);
      const refreshed = sessionOf(ok(await client.refreshSession()));
      assert.equal(lost, 2, "the client sent the same token again");
      assert.notEqual(refreshed.refresh_token, session.refresh_token);
      sessionOf(ok(await client.refreshSession()));
    });

    test("is signed out everywhere when a used token comes back", async () => {
      const client = browser(app);
      const { session } = await signedUp(client);
      ok(await client.refreshSession());
      ok(await client.refreshSession());
      await sleep(reuseInterval);
      const thief = browser(app);
      const stolen = (await thief.refreshSession({ refresh_token: session.refresh_token })).error;
      assert.equal(stolen?.code, "refresh_token_already_used");
      const user = (await client.getUser()).error;
      assert.equal(user?.name, "AuthSessionMissingError");
      assert.equal(ok(await client.getSession()).session, null, "the client has dropped what it had");
    });

    test("changes a person's data, password and address", async () => {
      const client = browser(app);
      const { email } = await signedUp(client);
      const other = await another(app, email);
      const named = ok(await client.updateUser({ data: { name: "Bob" } })).user;
      assert.equal(named.user_metadata["name"], "Bob");
      assert.equal((await client.updateUser({ password })).error?.code, "same_password");
      assert.equal((await client.updateUser({ password: "12345" })).error?.code, "weak_password");
      ok(await other.getUser());
      ok(await client.updateUser({ password: "another horse" }));
      assert.equal((await other.getUser()).error?.name, "AuthSessionMissingError");
      const address = newEmail();
      assert.equal(ok(await client.updateUser({ email: address })).user.email, address);
      ok(await browser(app).signInWithPassword({ email: address, password: "another horse" }));
    });

    test("signs out here, elsewhere or everywhere", async () => {
      const here = browser(app);
      const { email } = await signedUp(here);
      const [second, third] = [await another(app, email), await another(app, email)];
      assert.equal((await second.signOut({ scope: "local" })).error, null);
      ok(await here.getUser());
      assert.equal((await here.signOut({ scope: "others" })).error, null);
      assert.equal((await third.getUser()).error?.name, "AuthSessionMissingError");
      ok(await here.getUser());
      const fourth = await another(app, email);
      assert.equal((await fourth.signOut()).error, null);
      assert.equal((await here.getUser()).error?.name, "AuthSessionMissingError");
      assert.equal(ok(await fourth.getSession()).session, null);
    });

    test("reads claims with the published keys, asking for them once", async () => {
      const paths: string[] = [];
      const client = browser(app, (input, init) => {
        paths.push(new URL(new Request(input).url).pathname);
        return fetch(input, init);
      });
      const { email, session } = await signedUp(client);
      paths.length = 0;
      for (let time = 0; time < 2; time++) {
        const claims = ok(await client.getClaims())?.claims;
        assert.equal(claims?.sub, session.user.id);
        assert.equal(claims?.email, email);
        assert.equal(claims?.iss, `${app.url}/auth/v1`);
        assert.deepEqual(
          [claims?.role, claims?.aal, claims?.aud],
          ["authenticated", "aal1", "authenticated"],
        );
      }
      assert.deepEqual(paths, ["/auth/v1/.well-known/jwks.json"]);
      const [header, payload, signature = ""] = session.access_token.split(".");
      const forged = `${header}.${payload}.${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`;
      assert.equal((await client.getClaims(forged)).error?.message, "Invalid JWT signature");
    });

    test("tells the page what happens to the session", async () => {
      const client = browser(app);
      const events: AuthChangeEvent[] = [];
      const { promise: initial, resolve } = Promise.withResolvers<void>();
      client.onAuthStateChange((event) => {
        events.push(event);
        resolve();
      });
      await initial;
      await signedUp(client);
      ok(await client.refreshSession());
      ok(await client.updateUser({ data: { a: 1 } }));
      await client.signOut();
      assert.deepEqual(events, [
        "INITIAL_SESSION",
        "SIGNED_IN",
        "TOKEN_REFRESHED",
        "USER_UPDATED",
        "SIGNED_OUT",
      ]);
    });

    test("keeps people signed in over a restart of the program", async () => {
      const first = await startApp({ database });
      const { session } = await signedUp(browser(first));
      await first.stop({ keepData: true });
      const second = await startApp({ data: first.data });
      const client = browser(second);
      ok(await client.setSession(tokensOf(session)));
      sessionOf(ok(await client.refreshSession()));
      await second.stop();
    });
  });
}
