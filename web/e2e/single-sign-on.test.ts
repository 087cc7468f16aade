import { AuthClient } from "@supabase/auth-js";
import assert from "node:assert/strict";
import { after, test, type TestContext } from "node:test";
import { Account, password } from "./account.ts";
import { type Fixture, startFixture } from "./fixture.ts";
import { type IdentityProvider, startOidcProvider } from "./identity-provider.ts";
import { startIdpyoidc } from "./idpyoidc-provider.ts";
import { closeToasts, inspect, looks } from "./look.ts";

/** An app with a provider of its own, which knows one app. */
async function started(starting: Promise<IdentityProvider>, settings: Record<string, string> = {}) {
  const provider = await starting;
  after(() => provider.stop());
  const fixture = await startFixture({ ...provider.settings, ...settings });
  provider.register(fixture.app.url);
  return { ...fixture, provider };
}

const fixture = await started(startOidcProvider(), { CHAT_OIDC_LOGOUT: "on" });
const namingSessions = await started(startOidcProvider(true), { CHAT_OIDC_LOGOUT: "on" });
const only = await started(startOidcProvider(), { CHAT_OIDC_ONLY: "on" });
const invited = await started(startOidcProvider(), { CHAT_SIGNUPS: "invite" });
const idpyoidc = await started(startIdpyoidc("RS256"), { CHAT_OIDC_LOGOUT: "on" });
const idpyoidcWithES256 = await started(startIdpyoidc("ES256"), { CHAT_OIDC_LOGOUT: "on" });

/** Opens the app without a session. Nothing is loaded from outside: the provider's pages name a font there. */
async function open(t: TestContext, { openPage }: Fixture, path: string, look = {}) {
  const appPage = await openPage(t, look);
  await appPage.page.route(/fonts\.googleapis\.com/u, (route) => route.abort());
  await appPage.page.goto(path);
  return appPage;
}

/** Returns the official client, which stores its session in memory. */
function createClient(appUrl: string, flowType: "pkce" | "implicit", fetch?: typeof globalThis.fetch) {
  const memory = new Map<string, string>();
  return new AuthClient({
    url: `${appUrl}/auth/v1`,
    flowType,
    autoRefreshToken: false,
    storage: {
      getItem: (key) => memory.get(key) ?? null,
      setItem: (key, value) => void memory.set(key, value),
      removeItem: (key) => void memory.delete(key),
    },
    ...(fetch && { fetch }),
  });
}

const button = { name: "Continue with Example Corp" };

for (const [name, look] of looks) {
  test(`the sign-in screen offers the provider above the forms, at ${name}`, async (t) => {
    const appPage = await open(t, fixture, "/auth", look);
    await appPage.page.getByRole("button", button).waitFor();
    await appPage.field("Password").waitFor();
    await inspect(appPage, "auth-provider", look);
  });

  test(`only the provider is offered where it is the only way in, at ${name}`, async (t) => {
    const appPage = await open(t, only, "/auth", look);
    await appPage.page.getByRole("button", button).waitFor();
    assert.equal(await appPage.page.getByRole("textbox").count(), 0);
    assert.equal(await appPage.page.getByRole("tab").count(), 0);
    await inspect(appPage, "auth-provider-only", look);
  });
}

for (const installation of [fixture, idpyoidc]) {
  const { app, provider } = installation;

  test(`signs in at ${provider.name} and arrives where the user wanted to go`, async (t) => {
    const appPage = await open(t, installation, "/?tab=servers");
    await appPage.page.getByRole("button", button).click();
    await provider.signIn(appPage.page, "ann");
    await appPage.field("Server Name").waitFor();
    assert.equal(new URL(appPage.page.url()).search, "?tab=servers", "without the code");
  });

  test(`a user who declines at ${provider.name} reads it on the sign-in screen`, async (t) => {
    const appPage = await open(t, installation, "/auth");
    await appPage.page.getByRole("button", button).click();
    await provider.decline(appPage.page);
    await appPage.toast("Sign in failed", /^Example Corp did not confirm the sign-in\./u);
    await closeToasts(appPage);
    await appPage.page.getByRole("button", button).waitFor();
    assert.equal(new URL(appPage.page.url()).search, "", "a reload does not show it again");
  });

  for (const flowType of ["pkce", "implicit"] as const) {
    test(`the official client signs in with OAuth at ${provider.name} (${flowType})`, async (t) => {
      const client = createClient(app.url, flowType);
      const options = { redirectTo: `${app.url}/arrived`, skipBrowserRedirect: true };
      const begun = await client.signInWithOAuth({ provider: "oidc" as "keycloak", options });
      assert.ok(begun.data.url);
      // Without scripts the web app leaves the URL, which is this client's, as it is.
      const appPage = await open(t, installation, "/auth", { javaScriptEnabled: false });
      await appPage.page.goto(begun.data.url);
      await provider.signIn(appPage.page, `client-${flowType}`);
      await appPage.page.waitForURL(/\/arrived/u);
      const url = new URL(appPage.page.url());
      const fragment = new URLSearchParams(url.hash.slice(1));
      const { data, error } =
        flowType === "pkce"
          ? await client.exchangeCodeForSession(url.searchParams.get("code") ?? "")
          : await client.setSession({
              access_token: fragment.get("access_token") ?? "",
              refresh_token: fragment.get("refresh_token") ?? "",
            });
      assert.equal(error, null);
      assert.equal(data.user?.email, `client-${flowType}@example.com`);
      assert.deepEqual(data.user?.app_metadata["providers"], ["oidc"]);
      const identities = await client.getUserIdentities();
      assert.deepEqual(
        identities.data?.identities.map((identity) => identity.provider),
        ["oidc"],
      );
    });
  }

  test(`the official client links and unlinks an identity at ${provider.name}`, async (t) => {
    const account = await Account.create(app.url);
    const appPage = await open(t, installation, "/auth", { javaScriptEnabled: false });
    // The browser that goes to the provider has to have the cookie of the request that began it.
    const client = createClient(app.url, "pkce", async (input, init) => {
      const response = await fetch(input, init);
      for (const cookie of response.headers.getSetCookie()) {
        const [name = "", value = ""] = (cookie.split(";")[0] ?? "").split("=");
        await appPage.page.context().addCookies([{ name, value, url: app.url }]);
      }
      return response;
    });
    await client.signInWithPassword({ email: account.email, password });
    const begun = await client.linkIdentity({
      provider: "oidc" as "keycloak",
      options: { redirectTo: `${app.url}/arrived`, skipBrowserRedirect: true },
    });
    assert.equal(begun.error, null);
    await appPage.page.goto(begun.data.url);
    await provider.signIn(appPage.page, "gerda");
    await appPage.page.waitForURL(/\/arrived/u);
    const code = new URL(appPage.page.url()).searchParams.get("code") ?? "";
    const { data } = await client.exchangeCodeForSession(code);
    assert.equal(data.user?.email, account.email);
    const linked = (await client.getUserIdentities()).data?.identities ?? [];
    assert.deepEqual(
      linked.map((identity) => identity.provider),
      ["email", "oidc"],
    );
    const [email, oidc] = linked;
    assert.ok(email !== undefined && oidc !== undefined);
    assert.equal((await client.unlinkIdentity(email)).error?.code, "single_identity_not_deletable");
    assert.equal((await client.unlinkIdentity(oidc)).error, null);
    assert.equal((await client.getUserIdentities()).data?.identities.length, 1);
  });
}

for (const [name, look] of looks) {
  test(`an account with the same address is not handed over, at ${name}`, async (t) => {
    const account = await Account.create(fixture.app.url);
    const appPage = await open(t, fixture, "/auth", look);
    await appPage.page.getByRole("button", button).click();
    await fixture.provider.signIn(appPage.page, account.email.replace("@example.com", ""));
    await appPage.toast("Sign in failed", /^There is already an account with your email address\./u);
    await inspect(appPage, "auth-provider-email-exists", look);
  });
}

for (const installation of [fixture, idpyoidc, idpyoidcWithES256]) {
  const { app, provider } = installation;
  test(`a user who signs out is signed out at ${provider.name}, with ${provider.algorithm}`, async (t) => {
    const { page } = await open(t, installation, "/");
    await page.getByRole("button", button).click();
    await provider.signIn(page, "bela");
    const logout = page.waitForRequest(/id_token_hint=/u);
    await page.getByRole("button", { name: "Sign Out" }).click();
    const hint = new URL((await logout).url()).searchParams.get("id_token_hint") ?? "";
    const header = Buffer.from(hint.split(".")[0] ?? "", "base64url").toString();
    assert.equal((JSON.parse(header) as { alg: string }).alg, provider.algorithm);
    await provider.confirmSignOut(page);
    await page.waitForURL(`${app.url}/auth**`);
    await page.getByRole("button", button).click();
    await provider.nameField(page).waitFor();
  });
}

/** Signs in at the provider in a browser of its own. */
async function signInElsewhere(t: TestContext, installation: typeof fixture, name: string) {
  const appPage = await open(t, installation, "/");
  await appPage.page.getByRole("button", button).click();
  await installation.provider.signIn(appPage.page, name);
  await appPage.page.getByRole("button", { name: "Sign Out" }).waitFor();
  return appPage;
}

test("a user who signs out at the provider is signed out in other browsers", async (t) => {
  const here = await signInElsewhere(t, fixture, "cora");
  const there = await signInElsewhere(t, fixture, "cora");
  await here.page.getByRole("button", { name: "Sign Out" }).click();
  await fixture.provider.confirmSignOut(here.page);
  await here.page.waitForURL(`${fixture.app.url}/auth**`);
  // The provider has reported the logout, which ends all sessions that the user began there.
  await there.page.reload();
  await there.page.getByRole("button", button).waitFor();
});

for (const installation of [namingSessions, idpyoidc]) {
  const { app, provider } = installation;
  test(`a session that ends at ${provider.name} ends the sessions that began in it, and no others`, async (t) => {
    const here = await signInElsewhere(t, installation, "cora");
    const there = await signInElsewhere(t, installation, "cora");
    // Another client in the same browser: the provider knows the user by its cookies.
    const client = createClient(app.url, "pkce");
    const options = { redirectTo: `${app.url}/arrived`, skipBrowserRedirect: true };
    const begun = await client.signInWithOAuth({ provider: "oidc" as "keycloak", options });
    assert.ok(begun.data.url);
    const arrived = await here.page.context().request.get(begun.data.url);
    const code = new URL(arrived.url()).searchParams.get("code") ?? "";
    const { data } = await client.exchangeCodeForSession(code);
    assert.equal(data.user?.email, "cora@example.com");

    await here.page.getByRole("button", { name: "Sign Out" }).click();
    await provider.confirmSignOut(here.page);
    await here.page.waitForURL(`${app.url}/auth**`);
    assert.equal((await client.getUser()).error?.name, "AuthSessionMissingError");
    await there.page.reload();
    await there.page.getByRole("button", { name: "Sign Out" }).waitFor();
  });
}

test("where the provider is the only way in, the settings offer no password", async (t) => {
  const appPage = await open(t, only, "/?settings=security");
  await appPage.page.getByRole("button", button).click();
  await only.provider.signIn(appPage.page, "bob");
  await appPage.page.getByRole("heading", { name: "Security" }).waitFor();
  await appPage.page.getByText("Two-factor authentication").first().waitFor();
  assert.equal(await appPage.page.getByText("Password", { exact: true }).count(), 0);
  const refused = await new AuthClient({ url: `${only.app.url}/auth/v1` }).signInWithPassword({
    email: "bob@example.com",
    password: "any",
  });
  assert.equal(refused.error?.code, "email_provider_disabled");
});

/** Opens the security settings of a new account, which has a password. */
async function openSecurity(t: TestContext, look = {}) {
  const { account, appPage } = await fixture.openSignedInPage(t, look);
  await appPage.page.route(/fonts\.googleapis\.com/u, (route) => route.abort());
  await appPage.open("/?settings=security");
  const identities = appPage.page.getByRole("region", { name: "Single sign-on" });
  return { account, appPage, identities };
}

for (const [name, look] of looks) {
  test(`a user links an account at the provider, signs in with it and unlinks it, at ${name}`, async (t) => {
    const login = `dora-${look.viewport.width}`;
    const { account, appPage, identities } = await openSecurity(t, look);
    await identities.getByText("Link an account at Example Corp").waitFor();
    await identities.getByRole("button", { name: "Link" }).click();
    await fixture.provider.signIn(appPage.page, login);
    await appPage.toasts.getByText("Single sign-on linked", { exact: true }).waitFor();
    assert.equal(new URL(appPage.page.url()).search, "?settings=security", "without the code");
    await closeToasts(appPage);
    await identities.getByText(`${login}@example.com`).waitFor();
    await identities.scrollIntoViewIfNeeded();
    await inspect(appPage, "settings-single-sign-on", look);

    const other = await open(t, fixture, "/?settings=account");
    await other.page.getByRole("button", button).click();
    await fixture.provider.signIn(other.page, login);
    await other.page.getByText(account.email).first().waitFor();

    await identities.getByRole("button", { name: `Unlink ${login}@example.com` }).click();
    await inspect(appPage, "settings-single-sign-on-unlink", look);
    await appPage.page.getByRole("button", { name: "Unlink", exact: true }).click();
    await appPage.toast("Single sign-on unlinked", `${login}@example.com`);
    await identities.getByRole("listitem").waitFor({ state: "detached" });
    assert.ok(await identities.getByRole("heading").evaluate((title) => title === document.activeElement));
    await other.page.getByRole("button", button).waitFor();
  });
}

test("an account at the provider that belongs to somebody else is not linked", async (t) => {
  const owner = await open(t, fixture, "/");
  await owner.page.getByRole("button", button).click();
  await fixture.provider.signIn(owner.page, "edith");
  await owner.page.getByRole("button", { name: "Sign Out" }).waitFor();

  const { account, appPage, identities } = await openSecurity(t);
  await identities.getByRole("button", { name: "Link" }).click();
  await fixture.provider.signIn(appPage.page, "edith");
  await appPage.toast(
    "Single sign-on was not linked",
    "This account at Example Corp is already linked to another account here.",
  );
  await identities.getByText("Link an account at Example Corp").waitFor();
  assert.equal(await identities.getByRole("listitem").count(), 0);
  await appPage.open("/?settings=account");
  await appPage.page.getByText(account.email).first().waitFor();
});

test("the only way to sign in is not unlinked before there is another", async (t) => {
  const appPage = await open(t, fixture, "/?settings=security");
  await appPage.page.getByRole("button", button).click();
  await fixture.provider.signIn(appPage.page, "frida");
  const identities = appPage.page.getByRole("region", { name: "Single sign-on" });
  await identities.getByRole("button", { name: "Unlink frida@example.com" }).click();
  await appPage.page.getByRole("button", { name: "Unlink", exact: true }).click();
  await appPage.toasts.getByText(/^Without it you could not sign in\./u).waitFor();
  await identities.getByText("frida@example.com").waitFor();
});

test("the link of a registration token leads to an account of the provider", async (t) => {
  const appPage = await open(t, invited, "/auth");
  await appPage.page.getByRole("button", button).click();
  await invited.provider.signIn(appPage.page, "ann");
  await appPage.toast("Sign in failed", "This server accepts no new accounts.");
  const created = await invited.app.command("admin", "registration-token", "create", "--json");
  const { link } = JSON.parse(created) as { link: string };
  const other = await open(t, invited, "/auth" + new URL(link).hash, looks[1]?.[1]);
  await other.page.getByText("You have been invited to sign up.").waitFor();
  if (looks[1]) await inspect(other, "auth-register-provider", looks[1][1]);
  await other.page.getByRole("button", button).click();
  await invited.provider.signIn(other.page, "ann");
  await other.composer.waitFor();
});
