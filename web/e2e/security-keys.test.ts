import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { password } from "./account.ts";
import type { AppPage } from "./app-page.ts";
import { startFixture } from "./fixture.ts";
import { closeToasts, inspect, looks } from "./look.ts";
import { ageSignIns } from "./old-sign-ins.ts";
import { Settings } from "./settings.ts";
import { totp } from "./totp.ts";
import { VirtualAuthenticator } from "./virtual-authenticator.ts";

const fixture = await startFixture();

/** Adds a security key in the settings, and returns its recovery codes if it is the first factor. */
async function addKey(settings: Settings, name: string, isFirst: boolean): Promise<string[]> {
  await settings.change(isFirst ? "Security key" : "Another security key");
  await settings.field("Security key name").fill(name);
  await settings.button("Continue").click();
  await settings.row(name).waitFor();
  if (!isFirst) return [];
  const codes = await settings.panel
    .getByRole("list", { name: "Recovery codes" })
    .locator("li")
    .allTextContents();
  await settings.button("I have saved them").click();
  return codes;
}

async function signOut(appPage: AppPage): Promise<void> {
  await appPage.page.keyboard.press("Escape");
  await appPage.pressInHeader("Sign Out");
  await appPage.arrivesAt("/auth");
}

test("a security key is added, asked for at sign-in, replaced by a recovery code, and removed", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const key = await VirtualAuthenticator.addTo(appPage, "security key");
  await appPage.open();
  let settings = await Settings.open(appPage, "Security");
  const twoStep = settings.section("Two-factor authentication");
  const codes = await addKey(settings, "Blue key", true);
  assert.equal(codes.length, 10);
  await appPage.toast(
    "Two-factor authentication is on",
    "You'll be asked for your security key when you sign in.",
  );
  await settings
    .row("Blue key")
    .getByText(/^Security key · Added /u)
    .waitFor();
  assert.equal(await twoStep.getByText("Off", { exact: true }).count(), 0);

  await settings.change("Another security key");
  await settings.field("Security key name").fill("Blue key again");
  await settings.button("Continue").click();
  await settings.panel.getByText("You have already added this security key.").waitFor();
  await settings.button("Cancel Another security key").click();
  await key.remove();
  const other = await VirtualAuthenticator.addTo(appPage, "security key");
  await addKey(settings, "Red key", false);
  await appPage.toast("Security key added", "Security key added");

  await signOut(appPage);
  await appPage.signIn(account.email);
  await appPage.page.getByRole("heading", { name: "One more step" }).waitFor();
  const use = appPage.button("Use your security key");
  await use.waitFor();
  assert.ok(await use.evaluate((button) => button === document.activeElement));
  assert.equal(await appPage.field("Code").count(), 0, "there is no app that shows a code");
  await appPage.page.keyboard.press("Enter");
  await appPage.arrivesAt("/");
  await appPage.composer.waitFor();

  await signOut(appPage);
  await other.forgetAll();
  await appPage.signIn(account.email);
  await use.click();
  await appPage.page.getByRole("alert").getByText("No security key answered. Try again.").waitFor();
  await appPage.button("Use a recovery code").click();
  await appPage.field("Recovery code").fill(codes[0] ?? "");
  await appPage.button("Verify").click();
  await appPage.arrivesAt("/");

  settings = await Settings.open(appPage, "Security");
  await settings.button("Remove Red key").click();
  await settings.confirm(/^Remove Red key\?/u, "Remove");
  await appPage.toast("Security key removed", "Red key");
  await settings.button("Remove Blue key").click();
  await settings.confirm(/^Remove Blue key\?/u, "Remove");
  // The recovery code that raised the session went with the last factor.
  await twoStep.getByText("Off", { exact: true }).waitFor();
});

test("who has an authenticator app and a security key chooses, also to confirm an old sign-in", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await VirtualAuthenticator.addTo(appPage, "security key");
  await appPage.open();
  let settings = await Settings.open(appPage, "Security");
  const secret = await settings.addAuthenticator("My phone");
  await settings.change("Security key");
  await settings.field("Security key name").fill("Blue key");
  await settings.field("Security key name").press("Enter");
  await settings.row("Blue key").waitFor();

  await signOut(appPage);
  await appPage.signIn(account.email);
  await appPage.field("Code").waitFor();
  await appPage.button("Use your security key").click();
  await appPage.button("Use my authenticator").click();
  await appPage.field("Code").fill(await totp(secret));
  await appPage.button("Use your security key").click();
  await appPage.button("Use your security key").click();
  await appPage.arrivesAt("/");

  settings = await Settings.open(appPage, "Security");
  ageSignIns(fixture.app.dataDir);
  await settings.button("Remove My phone").click();
  await settings.confirm(/^Remove My phone\?/u, "Remove");
  const question = appPage.page.getByRole("dialog", { name: "Confirm your identity" });
  await question.getByRole("button", { name: "Use your security key" }).click();
  await question.getByRole("button", { name: "Use your security key" }).click();
  await appPage.toast("Authenticator removed", "My phone");
  await question.waitFor({ state: "detached" });
});

test("nothing is offered where the browser has no security keys", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const key = await VirtualAuthenticator.addTo(appPage, "security key");
  await appPage.open();
  await addKey(await Settings.open(appPage, "Security"), "Blue key", true);
  await key.remove();
  const other = await fixture.openPage(t);
  await other.page.addInitScript(() => Reflect.deleteProperty(globalThis, "PublicKeyCredential"));
  await other.open("/auth");
  await other.signIn(account.email);
  await other.page.getByText("This browser can't use security keys.").waitFor();
  await other.button("Use a recovery code").waitFor();
  assert.equal(await other.button("Use your security key").count(), 0);
});

test("the official client registers a security key and signs in with it", async (t) => {
  const { account } = await fixture.openSignedInPage(t);
  const appPage = await fixture.openPage(t);
  const key = await VirtualAuthenticator.addTo(appPage, "security key");
  const modules = new URL("../node_modules/", import.meta.url);
  await appPage.page.route("**/official-client/**", async (route) => {
    const path = new URL(route.request().url()).pathname.replace("/official-client/", "");
    const file = /\.m?js$/u.test(path) ? path : `${path}.js`;
    const source = await readFile(new URL(file, modules), "utf8");
    // Browsers resolve no names of packages.
    const body = source.replace(/from (["'])tslib\1/u, 'from "/official-client/tslib/tslib.es6.mjs"');
    await route.fulfill({ contentType: "text/javascript", body });
  });
  await appPage.open("/auth");
  const levels = await appPage.page.evaluate(
    async ({ email, word }) => {
      type Library = typeof import("@supabase/auth-js");
      const address = "/official-client/@supabase/auth-js/dist/module/index.js";
      const { AuthClient } = (await import(address)) as Library;
      const signIn = async () => {
        const client = new AuthClient({
          url: `${location.origin}/auth/v1`,
          storageKey: crypto.randomUUID(),
          autoRefreshToken: false,
          detectSessionInUrl: false,
        });
        const { error } = await client.signInWithPassword({ email, password: word });
        if (error) throw error;
        return client;
      };
      const first = await signIn();
      const registered = await first.mfa.webauthn.register({ friendlyName: "key" });
      const { data: factors } = await first.mfa.listFactors();
      const second = await signIn();
      const factorId = factors?.webauthn[0]?.id ?? "";
      const elsewhere = await second.mfa.webauthn.authenticate({
        factorId,
        webauthn: { rpId: "example.com", rpOrigins: ["https://example.com"] },
      });
      const used = await second.mfa.webauthn.authenticate({ factorId });
      const { data: level } = await second.mfa.getAuthenticatorAssuranceLevel();
      await second.mfa.unenroll({ factorId });
      const { data: left } = await second.mfa.listFactors();
      return {
        errors: [registered.error?.message, used.error?.message],
        elsewhere: elsewhere.error?.message,
        methods: level?.currentAuthenticationMethods.map((proof) =>
          typeof proof === "string" ? proof : proof.method,
        ),
        level: level?.currentLevel,
        left: left?.all.length,
      };
    },
    { email: account.email, word: password },
  );
  assert.match(levels.elsewhere ?? "", /^rpId is "example\.com", but this server is "localhost"/u);
  assert.deepEqual(
    [levels.errors, levels.level, levels.methods, levels.left],
    [[undefined, undefined], "aal2", ["mfa/webauthn", "password"], 0],
  );
  assert.equal(await key.count(), 1);
});

for (const [name, look] of looks) {
  test(`the screens of security keys are free of accessibility faults at ${name}, and fit`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, { ...look });
    const key = await VirtualAuthenticator.addTo(appPage, "security key");
    await appPage.open();
    const settings = await Settings.open(appPage, "Security");
    await settings.change("Security key");
    await inspect(appPage, "security-key-form", look);
    await settings.field("Security key name").fill("Blue key");
    await settings.button("Continue").click();
    await settings.button("I have saved them").click();
    await closeToasts(appPage);
    await settings.row("Blue key").scrollIntoViewIfNeeded();
    await inspect(appPage, "security-key-row", look);

    const other = await fixture.openPage(t, { ...look });
    await key.remove();
    await VirtualAuthenticator.addTo(other, "security key");
    await other.open("/auth");
    await other.signIn(account.email);
    const use = other.button("Use your security key");
    await use.waitFor();
    await inspect(other, "security-key-step", look);
    await use.click();
    await other.page.getByRole("alert").waitFor();
    await inspect(other, "security-key-step-failed", look);
  });
}
