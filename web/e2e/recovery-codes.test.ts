import { AuthClient } from "@supabase/auth-js";
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { Account, password } from "./account.ts";
import type { AppPage } from "./app-page.ts";
import { startFixture } from "./fixture.ts";
import { Settings } from "./settings.ts";
import { totp } from "./totp.ts";

const fixture = await startFixture();

const codeForm = /^([0-9a-hjkmnp-tv-z]{4}-){3}[0-9a-hjkmnp-tv-z]{4}$/u;

/** Reads the recovery codes that are shown. */
async function readCodes(settings: Settings): Promise<string[]> {
  const list = settings.panel.getByRole("list", { name: "Recovery codes" });
  await list.waitFor();
  const codes = await list.getByRole("listitem").allTextContents();
  assert.equal(new Set(codes).size, 10);
  for (const code of codes) assert.match(code, codeForm);
  return codes;
}

/** Sets up the first authenticator up to its recovery codes. */
async function setUp(settings: Settings): Promise<string> {
  await settings.change("Authenticator app");
  await settings.field("Authenticator name").fill("My phone");
  await settings.button("Continue").click();
  const secret = (await settings.panel.locator("code").textContent()) ?? "";
  await settings.field("Code from the app").fill(await totp(secret, -1));
  await settings.button("Verify").click();
  return secret;
}

/** Signs in with a recovery code. */
async function recover(other: AppPage, email: string, code: string): Promise<void> {
  await other.open("/auth");
  await other.signIn(email);
  await other.button("Use a recovery code").click();
  await other.field("Recovery code").fill(code);
  await other.button("Verify").click();
}

test("a user who has lost the authenticator signs in with a recovery code, once, and removes it", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  const settings = await Settings.open(appPage, "Security");
  await setUp(settings);
  const codes = await readCodes(settings);
  const [first = "", second = ""] = codes;

  const saved = appPage.page.waitForEvent("download");
  await settings.button("Download").click();
  const download = await saved;
  assert.equal(download.suggestedFilename(), "recovery-codes-localhost.txt");
  const text = await readFile(await download.path(), "utf8");
  assert.ok(text.includes(account.email) && codes.every((code) => text.includes(code)), text);
  await appPage.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await settings.button("Copy recovery codes").click();
  assert.equal(await appPage.page.evaluate(() => navigator.clipboard.readText()), codes.join("\n"));
  await settings.button("I have saved them").click();
  await settings.section("Two-factor authentication").getByText("10 codes left", { exact: true }).waitFor();
  assert.equal(await settings.panel.getByText(first).count(), 0, "they are shown once");
  assert.ok(
    await settings.toggle("Another authenticator").evaluate((button) => button === document.activeElement),
  );

  const other = await fixture.openPage(t);
  await recover(other, account.email, ` ${first.toUpperCase()} `);
  await other.arrivesAt("/");
  const there = await Settings.open(other, "Security");
  await there.section("Two-factor authentication").getByText("9 codes left", { exact: true }).waitFor();

  const third = await fixture.openPage(t);
  await recover(third, account.email, first);
  await third.page
    .getByRole("alert")
    .getByText("This recovery code is wrong or was used before.", { exact: true })
    .waitFor();
  assert.ok(await third.field("Recovery code").evaluate((field) => field === document.activeElement));
  await third.field("Recovery code").fill(second);
  await third.button("Verify").click();
  await third.arrivesAt("/");

  await there.button("Remove My phone").click();
  await there.confirm(/^Remove My phone\?/u, "Remove");
  await other.toast("Two-factor authentication is off", "My phone");
  await there.section("Two-factor authentication").getByText("Off", { exact: true }).waitFor();
  assert.equal(await there.panel.getByText("Recovery codes", { exact: true }).count(), 0);
});

test("renewed recovery codes replace the old ones", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  const settings = await Settings.open(appPage, "Security");
  await setUp(settings);
  const [old = ""] = await readCodes(settings);
  await settings.button("I have saved them").click();
  await settings.change("Recovery codes");
  await settings.panel.getByText("You get ten new codes. The old ones stop working.").waitFor();
  await settings.button("Create new codes").click();
  const [renewed = ""] = await readCodes(settings);
  await settings.button("I have saved them").click();

  const other = await fixture.openPage(t);
  await recover(other, account.email, old);
  await other.page
    .getByRole("alert")
    .getByText(/^This recovery code is wrong/u)
    .waitFor();
  await other.button("Use my authenticator").click();
  await other.field("Code").waitFor();
  await other.button("Use a recovery code").click();
  await other.field("Recovery code").fill(renewed);
  await other.button("Verify").click();
  await other.arrivesAt("/");
});

test("the official client creates, uses, renews and removes recovery codes", async () => {
  const account = await Account.create(fixture.app.url);
  const client = new AuthClient({
    url: `${fixture.app.url}/auth/v1`,
    autoRefreshToken: false,
    persistSession: false,
    experimental: { recoveryCodes: true },
  });
  await client.signInWithPassword({ email: account.email, password });
  const { recoveryCodes } = client.mfa;
  assert.equal((await recoveryCodes.getStatus()).error?.code, "mfa_factor_not_found");
  assert.equal((await recoveryCodes.generate()).error?.code, "mfa_recovery_codes_sole_factor");
  const enrolled = await client.mfa.enroll({ factorType: "totp", friendlyName: "phone" });
  assert.ok(enrolled.data !== null);
  const code = await totp(enrolled.data.totp.secret);
  assert.equal((await client.mfa.challengeAndVerify({ factorId: enrolled.data.id, code })).error, null);
  const issued = await recoveryCodes.generate({ friendlyName: "Backup codes" });
  assert.equal(issued.data?.friendly_name, "Backup codes");
  assert.equal((await recoveryCodes.generate()).error?.code, "mfa_verified_factor_exists");

  await client.signInWithPassword({ email: account.email, password });
  const [first = ""] = issued.data?.codes ?? [];
  const verified = await recoveryCodes.verify({ code: first });
  assert.equal(verified.error, null);
  const level = await client.mfa.getAuthenticatorAssuranceLevel();
  assert.equal(level.data?.currentLevel, "aal2");
  assert.partialDeepStrictEqual(level.data?.currentAuthenticationMethods[0], { method: "mfa/recovery_code" });
  assert.deepEqual((await recoveryCodes.getStatus()).data?.remaining, 9);
  const renewed = await recoveryCodes.regenerate();
  assert.equal(renewed.data?.id, issued.data?.id);
  assert.equal((await recoveryCodes.getStatus()).data?.remaining, 10);
  assert.equal((await recoveryCodes.unenroll()).data?.id, issued.data?.id);
});
