import assert from "node:assert/strict";
import { test } from "node:test";
import { Settings } from "./settings.ts";
import { startFixture } from "./fixture.ts";
import { totp } from "./totp.ts";

const fixture = await startFixture();

test("a code is asked for once an authenticator is set up: at sign-in, after a reload, before any data is loaded", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  const settings = await Settings.open(appPage, "Security");
  const twoStep = settings.section("Two-factor authentication");
  await twoStep.getByText("Off", { exact: true }).waitFor();
  await settings.change("Authenticator app");
  await settings.field("Authenticator name").fill("My phone");
  await settings.button("Continue").click();
  const picture = settings.panel.getByRole("img", { name: /^QR code/u });
  await picture.waitFor();
  assert.ok(
    await picture.evaluate((image: HTMLImageElement) => image.decode().then(() => image.naturalWidth > 0)),
  );
  const secret = (await settings.panel.locator("code").textContent()) ?? "";
  assert.match(secret, /^([A-Z2-7]{4} )+[A-Z2-7]{1,4}$/u);
  await settings.field("Code from the app").fill("000000");
  await settings.button("Verify").click();
  await settings.panel
    .getByRole("alert")
    .getByText(/^Incorrect code\./u)
    .waitFor();
  await settings.field("Code from the app").fill(await totp(secret, -1));
  await settings.button("Verify").click();
  await appPage.toast("Two-factor authentication is on", "You'll be asked for a code when you sign in.");
  await settings
    .row("My phone")
    .getByText(/^Added /u)
    .waitFor();
  await settings.panel.getByRole("list", { name: "Recovery codes" }).waitFor();
  await settings.button("I have saved them").click();
  await twoStep.getByText("10 codes left", { exact: true }).waitFor();

  const other = await fixture.openPage(t);
  const asked: string[] = [];
  other.page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await other.open("/?tab=servers");
  await other.arrivesAt("/auth");
  await other.signIn(account.email);
  await other.page.getByRole("heading", { name: "One more step" }).waitFor();
  await other.page.reload();
  await other.page.getByRole("heading", { name: "One more step" }).waitFor();
  await other.open("/?tab=servers");
  await other.arrivesAt("/auth");
  await other.field("Code").fill("000 000");
  await other.button("Verify").click();
  await other.page
    .getByRole("alert")
    .getByText(/^Incorrect code\./u)
    .waitFor();
  assert.equal(await other.field("Code").inputValue(), "");
  assert.deepEqual(
    asked.filter((path) => /^\/(rest|api|functions)\//u.test(path)),
    [],
    "nothing was asked for before the code",
  );
  await other.field("Code").fill(await totp(secret));
  await other.button("Verify").click();
  await other.arrivesAt("/");
  assert.equal(new URL(other.page.url()).searchParams.get("tab"), "servers");
  await other.page.reload();
  await other.card("Active Connections").waitFor();
});

test("one of several authenticators can be chosen, and each removed; with the last one the password is enough again", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  const settings = await Settings.open(appPage);
  const phone = await settings.addAuthenticator("My phone");
  await settings.addAuthenticator("My tablet");
  await appPage.toast("Authenticator added", "Authenticator added");
  const other = await fixture.openPage(t);
  await other.open("/auth");
  await other.signIn(account.email);
  await other.field("Authenticator").selectOption("My phone");
  await other.field("Code").fill(await totp(phone));
  await other.button("Verify").click();
  await other.arrivesAt("/");
  await other.composer.waitFor();

  for (const [name, told] of [
    ["My phone", "Authenticator removed"],
    ["My tablet", "Two-factor authentication is off"],
  ] as const) {
    await settings.button(`Remove ${name}`).click();
    await settings.confirm(new RegExp(`^Remove ${name}\\?`, "u"), "Remove");
    await appPage.toast(told, name);
    await settings.row(name).waitFor({ state: "detached" });
    assert.equal(
      await appPage.page.evaluate(() => document.activeElement?.textContent),
      "Two-factor authentication",
    );
  }
  await settings.section("Two-factor authentication").getByText("Off", { exact: true }).waitFor();
  const again = await fixture.openPage(t);
  await again.open("/auth");
  await again.signIn(account.email);
  await again.arrivesAt("/");
  await again.composer.waitFor();
});

test("who removes the authenticator they signed in with gives the code of another, and is back in the settings", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  const settings = await Settings.open(appPage);
  const phone = await settings.addAuthenticator("My phone");
  await settings.addAuthenticator("My tablet");
  await settings.button("Remove My tablet").click();
  await settings.confirm(/asked for a code from another one/u, "Remove");
  await appPage.page.getByRole("heading", { name: "One more step" }).waitFor();
  await appPage.field("Code").fill(await totp(phone));
  await appPage.button("Verify").click();
  await settings.row("My phone").waitFor();
  assert.equal(await settings.row("My tablet").count(), 0);
});

test("who cannot give the code can use another account", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const { account: second } = await fixture.openSignedInPage(t);
  await appPage.open();
  await (await Settings.open(appPage)).addAuthenticator("My phone");
  const other = await fixture.openPage(t);
  await other.open("/auth");
  await other.signIn(account.email);
  await other.button("Use another account").click();
  await other.signIn(second.email);
  await other.arrivesAt("/");
  await other.sees(second.email);
});

test("what was begun and not finished is no factor, and does not stand in the way", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  const settings = await Settings.open(appPage);
  await settings.change("Authenticator app");
  await settings.field("Authenticator name").fill("My phone");
  await settings.button("Continue").click();
  await settings.panel.locator("code").waitFor();
  await appPage.page.reload();
  await settings.section("Two-factor authentication").getByText("Off", { exact: true }).waitFor();
  const other = await fixture.openPage(t);
  await other.open("/auth");
  await other.signIn(account.email);
  await other.arrivesAt("/");
  await settings.toggle("Authenticator app").click();
  await settings.addAuthenticator("My phone");
});
