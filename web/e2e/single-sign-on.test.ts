import { AuthClient } from "@supabase/auth-js";
import assert from "node:assert/strict";
import { after, test, type TestContext } from "node:test";
import { Account } from "./account.ts";
import { startFixture } from "./fixture.ts";
import { signInAtProvider, signOutAtProvider, startIdentityProvider } from "./identity-provider.ts";
import { closeToasts, inspect, looks } from "./look.ts";

/** An app with a provider of its own, which knows one app. */
async function started(settings: Record<string, string> = {}) {
  const provider = await startIdentityProvider();
  after(() => provider.stop());
  const fixture = await startFixture({ ...provider.settings, ...settings });
  provider.register(fixture.app.url);
  return fixture;
}

const fixture = await started();
const only = await started({ CHAT_OIDC_ONLY: "on" });
const leaving = await started({ CHAT_OIDC_LOGOUT: "on" });

/** Opens the app without a session. Nothing is loaded from outside: the provider's pages name a font there. */
async function open(t: TestContext, { openPage }: typeof fixture, path: string, look = {}) {
  const appPage = await openPage(t, look);
  await appPage.page.route(/fonts\.googleapis\.com/u, (route) => route.abort());
  await appPage.page.goto(path);
  return appPage;
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

test("signs in at the provider and arrives where the user wanted to go", async (t) => {
  const appPage = await open(t, fixture, "/?tab=servers");
  await appPage.page.getByRole("button", button).click();
  await signInAtProvider(appPage.page, "ann");
  await appPage.field("Server Name").waitFor();
  assert.equal(new URL(appPage.page.url()).search, "?tab=servers", "without the code");
});

test("a user who declines reads it on the sign-in screen", async (t) => {
  const appPage = await open(t, fixture, "/auth");
  await appPage.page.getByRole("button", button).click();
  await appPage.page.getByRole("link", { name: "Cancel" }).click();
  await appPage.toast("Sign in failed", /^Example Corp did not confirm the sign-in\./u);
  await closeToasts(appPage);
  await appPage.page.getByRole("button", button).waitFor();
  assert.equal(new URL(appPage.page.url()).search, "", "a reload does not show it again");
});

for (const [name, look] of looks) {
  test(`an account with the same address is not handed over, at ${name}`, async (t) => {
    const account = await Account.create(fixture.app.url);
    const appPage = await open(t, fixture, "/auth", look);
    await appPage.page.getByRole("button", button).click();
    await signInAtProvider(appPage.page, account.email.replace("@example.com", ""));
    await appPage.toast("Sign in failed", /^There is already an account with your email address\./u);
    await inspect(appPage, "auth-provider-email-exists", look);
  });
}

test("a user who signs out is signed out at the provider, and with that in other browsers", async (t) => {
  const [here, there] = [await open(t, leaving, "/"), await open(t, leaving, "/")];
  for (const { page } of [here, there]) {
    await page.getByRole("button", button).click();
    await signInAtProvider(page, "cora");
    await page.getByRole("button", { name: "Sign Out" }).waitFor();
  }
  await here.page.getByRole("button", { name: "Sign Out" }).click();
  await signOutAtProvider(here.page);
  await here.page.waitForURL(`${leaving.app.url}/auth**`);
  await here.page.getByRole("button", button).click();
  await here.page.getByPlaceholder("Enter any login").waitFor();
  // The provider has reported the logout, which ends all sessions that the user began there.
  await there.page.reload();
  await there.page.getByRole("button", button).waitFor();
});

test("where the provider is the only way in, the settings offer no password", async (t) => {
  const appPage = await open(t, only, "/?settings=security");
  await appPage.page.getByRole("button", button).click();
  await signInAtProvider(appPage.page, "bob");
  await appPage.page.getByRole("heading", { name: "Security" }).waitFor();
  await appPage.page.getByText("Two-factor authentication").first().waitFor();
  assert.equal(await appPage.page.getByText("Password", { exact: true }).count(), 0);
  const refused = await new AuthClient({ url: `${only.app.url}/auth/v1` }).signInWithPassword({
    email: "bob@example.com",
    password: "any",
  });
  assert.equal(refused.error?.code, "email_provider_disabled");
});

for (const flowType of ["pkce", "implicit"] as const) {
  test(`the official client signs in with OAuth (${flowType})`, async (t) => {
    const { app } = fixture;
    const memory = new Map<string, string>();
    const client = new AuthClient({
      url: `${app.url}/auth/v1`,
      flowType,
      autoRefreshToken: false,
      storage: {
        getItem: (key) => memory.get(key) ?? null,
        setItem: (key, value) => void memory.set(key, value),
        removeItem: (key) => void memory.delete(key),
      },
    });
    const options = { redirectTo: `${app.url}/arrived`, skipBrowserRedirect: true };
    const begun = await client.signInWithOAuth({ provider: "oidc" as "keycloak", options });
    assert.ok(begun.data.url);
    // Without scripts the web app leaves the URL, which is this client's, as it is.
    const appPage = await open(t, fixture, "/auth", { javaScriptEnabled: false });
    await appPage.page.goto(begun.data.url);
    await signInAtProvider(appPage.page, `client-${flowType}`);
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
      identities.data?.identities.map(({ provider }) => provider),
      ["oidc"],
    );
  });
}
