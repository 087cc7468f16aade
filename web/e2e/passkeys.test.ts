import assert from "node:assert/strict";
import { test } from "node:test";
import { startFixture } from "./fixture.ts";
import { Settings } from "./settings.ts";
import { VirtualAuthenticator } from "./virtual-authenticator.ts";

const fixture = await startFixture();

test("a passkey is created, named, signs in without a password, and is removed", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const authenticator = await VirtualAuthenticator.addTo(appPage, "device");
  await appPage.open();
  let settings = await Settings.open(appPage, "Security");
  const passkeys = settings.section("Passkeys");
  await passkeys.getByText("Create a passkey with this browser").waitFor();
  await passkeys.getByRole("button", { name: "Create", exact: true }).click();
  await appPage.page.getByText("Passkey created", { exact: true }).waitFor();
  await passkeys.getByText("Chrome, Linux", { exact: true }).waitFor();
  await passkeys.getByText(/^Added [^·]+$/u).waitFor();

  await passkeys.getByRole("button", { name: "Create", exact: true }).click();
  await appPage.page.getByText("This device already has a passkey for your account.").waitFor();

  await passkeys.getByRole("button", { name: "Rename Chrome, Linux" }).click();
  const field = settings.field("Passkey name");
  assert.equal(await field.inputValue(), "Chrome, Linux");
  await field.fill("My laptop");
  await field.press("Enter");
  await passkeys.getByText("My laptop", { exact: true }).waitFor();
  await field.waitFor({ state: "detached" });
  await appPage.page.keyboard.press("Escape");

  await appPage.pressInHeader("Sign Out");
  await appPage.arrivesAt("/auth");
  await authenticator.recognize(false);
  await appPage.button("Sign in with a passkey").click();
  await appPage.page.getByRole("button", { name: "Sign in with a passkey", disabled: false }).waitFor();
  await authenticator.recognize(true);
  await appPage.button("Sign in with a passkey").click();
  await appPage.arrivesAt("/");
  await appPage.page.getByText(account.email).first().waitFor({ state: "attached" });

  settings = await Settings.open(appPage, "Security");
  await passkeys.getByText(/· Last used /u).waitFor();
  await passkeys.getByRole("button", { name: "Remove My laptop" }).click();
  await appPage.button("Remove").click();
  await appPage.toast("Passkey removed", "My laptop");
  await passkeys.getByText("My laptop", { exact: true }).waitFor({ state: "detached" });
  await appPage.page.keyboard.press("Escape");

  await appPage.pressInHeader("Sign Out");
  await appPage.arrivesAt("/auth");
  await appPage.button("Sign in with a passkey").click();
  await appPage.toast("Sign in failed", "Invalid login credentials");
});

test("nothing is offered where the browser has no passkeys", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.page.addInitScript(() => Reflect.deleteProperty(globalThis, "PublicKeyCredential"));
  await appPage.open();
  const settings = await Settings.open(appPage, "Security");
  await settings.section("Passkeys").getByText("This browser can't create passkeys.").waitFor();
  await appPage.page.keyboard.press("Escape");
  await appPage.pressInHeader("Sign Out");
  await appPage.arrivesAt("/auth");
  await appPage.field("Password").waitFor();
  assert.equal(await appPage.button("Sign in with a passkey").count(), 0);
});
