import assert from "node:assert/strict";
import { after, test } from "node:test";
import { password } from "./account.ts";
import { closeToasts, inspect, looks } from "./look.ts";
import { Mailbox } from "./mailbox.ts";
import { ageSignIns } from "./old-sign-ins.ts";
import { Settings } from "./settings.ts";
import { startFixture } from "./fixture.ts";
import { totp } from "./totp.ts";
import type { AppPage } from "./app-page.ts";

const mailbox = await Mailbox.open();
after(() => mailbox.close());
const fixture = await startFixture({ ...mailbox.env, CHAT_AUTOCONFIRM: "on" });

const question = (appPage: AppPage) => appPage.page.getByRole("dialog", { name: "Confirm your identity" });

async function fillKey(settings: Settings, name: string): Promise<void> {
  await settings.change("API key");
  await settings.field("Key name").fill(name);
  await settings.field("Expiration").selectOption("30 days");
  await settings.button("Create key").click();
}

test("an old sign-in asks for the password, and what was begun goes on by itself", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  const settings = await Settings.open(appPage);
  ageSignIns(fixture.app.dataDir);
  await fillKey(settings, "Editor");
  const asked = question(appPage);
  await asked.getByLabel("Your password").fill("not it");
  await asked.getByRole("button", { name: "Continue" }).click();
  await asked.getByRole("alert").getByText("This isn't your current password.").waitFor();
  await appPage.page.keyboard.press("Escape");
  await asked.waitFor({ state: "detached" });
  await settings.panel.getByRole("alert").waitFor();
  assert.equal(await settings.row("Editor").count(), 0, "nothing happens without the proof");

  await settings.button("Create key").click();
  await asked.getByLabel("Your password").fill(password);
  await asked.getByRole("button", { name: "Continue" }).click();
  await settings
    .row("Editor")
    .getByText(/^Expires /u)
    .waitFor();
  assert.equal(await asked.count(), 0);
});

test("a code from the authenticator or the mail is a proof too", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  const settings = await Settings.open(appPage);
  const secret = await settings.addAuthenticator("phone");
  await closeToasts(appPage);
  ageSignIns(fixture.app.dataDir);
  await fillKey(settings, "By authenticator");
  const asked = question(appPage);
  await asked.getByRole("button", { name: "Use my authenticator" }).click();
  await asked.getByLabel("Code from your authenticator").fill(await totp(secret));
  await asked.getByRole("button", { name: "Continue" }).click();
  await settings.row("By authenticator").waitFor();
  await settings.button("Done").click();

  ageSignIns(fixture.app.dataDir);
  await fillKey(settings, "By mail");
  await asked.getByRole("button", { name: "Email me a code" }).click();
  await asked.getByRole("button", { name: "Email me a code" }).first().click();
  const { code } = await mailbox.next(account.email);
  await asked.getByLabel("Code from the email").fill(code);
  await asked.getByRole("button", { name: "Continue" }).click();
  await settings.row("By mail").waitFor();
});

test("a changed password ends API keys and shares where that is chosen", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  const settings = await Settings.open(appPage);
  await fillKey(settings, "Editor");
  await settings.row("Editor").waitFor();
  await settings.button("Done").click();
  await settings.change("Password");
  await settings.field("Current password").fill(password);
  await settings.field("New password").fill("another horse");
  await settings.panel.getByLabel("Revoke my API keys (1)").check();
  await settings.button("Change password").click();
  await appPage.toast("Password changed", "All other devices have been signed out.");
  await settings.goTo("API keys");
  await settings.toggle("API key").waitFor();
  assert.equal(await settings.row("Editor").count(), 0);
});

for (const [name, options] of looks) {
  test(`the question for a proof is free of accessibility faults at ${name}, and fits`, async (t) => {
    const { appPage } = await fixture.openSignedInPage(t, { ...options });
    await appPage.open();
    const settings = await Settings.open(appPage);
    ageSignIns(fixture.app.dataDir);
    await fillKey(settings, "Editor");
    await question(appPage).getByLabel("Your password").waitFor();
    await inspect(appPage, "step-up", options);
  });
}
