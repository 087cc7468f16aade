import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { newEmail, password } from "./account.ts";
import { Settings } from "./settings.ts";
import { startFixture } from "./fixture.ts";
import { eventually } from "./app-page.ts";

/** Sends no mail: accounts and addresses are confirmed at once. */
const fixture = await startFixture();

test("the settings open over the chat, stay through a reload, and give the focus back", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const { page } = appPage;
  await appPage.open();
  await appPage.composer.fill("half a thought");
  const settings = await Settings.open(appPage);
  assert.ok(new URL(page.url()).searchParams.has("settings"));
  await settings.panel.getByText(account.email).first().waitFor();
  await settings.change("Email");
  await page.reload();
  await settings.field("New email").waitFor();
  await eventually(async () => {
    assert.ok(await settings.field("New email").evaluate((field) => field === document.activeElement));
  });
  await settings.button("Close").click();
  await settings.panel.waitFor({ state: "detached" });
  await eventually(() => assert.equal(new URL(page.url()).searchParams.has("settings"), false));
  await eventually(async () => {
    assert.ok(await appPage.button("Settings").evaluate((button) => button === document.activeElement));
  });
  assert.equal(await appPage.composer.inputValue(), "half a thought");
  // A closed sheet is no step of the history: Back closes the one that is open, and reopens none.
  const reopened = await Settings.open(appPage);
  await page.goBack();
  await reopened.panel.waitFor({ state: "detached" });
  assert.equal(await appPage.composer.inputValue(), "half a thought");
});

test("a name is kept with the account and shown in the header", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  const settings = await Settings.open(appPage);
  await settings.section("Account").getByText("Not set").waitFor();
  await settings.change("Name");
  await settings.field("Your name").fill("  Mira Ö. ");
  await settings.button("Save").click();
  await appPage.toast("Name saved", "Name saved");
  assert.ok(await settings.toggle("Name").evaluate((button) => button === document.activeElement));
  await settings.button("Close").first().click();
  await appPage.page.getByRole("banner").getByText("Mira Ö.", { exact: true }).waitFor();
  const user = await account.call<{ user_metadata: { display_name: string } }>("/auth/v1/user");
  assert.equal(user.user_metadata.display_name, "Mira Ö.");
});

test("where no mail is sent, a new address holds at once; a taken one is refused in its field", async (t) => {
  const { account: other } = await fixture.openSignedInPage(t);
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  const settings = await Settings.open(appPage);
  await settings.change("Email");
  await settings.panel
    .getByText("The change takes effect immediately. Use the new address to sign in.")
    .waitFor();
  await settings.field("New email").fill(other.email);
  await settings.button("Change email").click();
  await settings.panel
    .getByRole("alert")
    .getByText("A user with this email address has already been registered")
    .waitFor();
  const email = newEmail();
  await settings.field("New email").fill(email);
  await settings.button("Change email").click();
  await appPage.toast("Email changed", `You now sign in with ${email}.`);
  await settings.section("Account").getByText(email, { exact: true }).waitFor();
});

test("a new password wants the old one, and signs all other devices out", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const elsewhere = await account.again();
  await appPage.open();
  const settings = await Settings.open(appPage);
  await settings.change("Password");
  await settings.field("Current password").fill("not it");
  await settings.field("New password").fill("another horse");
  await settings.button("Change password").click();
  await settings.panel.getByRole("alert").getByText("This isn't your current password.").waitFor();
  await settings.field("Current password").fill(password);
  await settings.field("New password").fill(password);
  await settings.button("Change password").click();
  await settings.panel.getByText("New password should be different from the old password.").waitFor();
  await settings.field("New password").fill("another horse");
  await settings.button("Change password").click();
  await appPage.toast("Password changed", "All other devices have been signed out.");
  const refused = await fetch(`${fixture.app.url}/auth/v1/user`, { headers: elsewhere.headers });
  assert.equal(refused.status, 403);
  await settings.button("Close").first().click();
  await appPage.pressInHeader("Sign Out");
  await appPage.arrivesAt("/auth");
  await appPage.signIn(account.email, "another horse");
  await appPage.arrivesAt("/");
});

test("a changed address shows in another browser when it looks at its settings", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const elsewhere = await fixture.openPage(t);
  await elsewhere.open("/auth");
  await elsewhere.signIn(account.email);
  await elsewhere.arrivesAt("/");
  await elsewhere.sees(account.email);
  await appPage.open();
  const settings = await Settings.open(appPage);
  await settings.change("Email");
  const email = `new-${account.email}`;
  await settings.field("New email").fill(email);
  await settings.button("Change email").click();
  await appPage.toast("Email changed", `You now sign in with ${email}.`);
  const theirs = await Settings.open(elsewhere);
  await theirs.section("Account").getByText(email, { exact: true }).waitFor();
});

test("devices are named, this one is marked, and each can be signed out", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const phone = {
    userAgent:
      "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Mobile/15E148 Safari/604.1",
  };
  const onPhone = await fixture.openPage(t, phone);
  await onPhone.open("/auth");
  await onPhone.signIn(account.email);
  await onPhone.arrivesAt("/");
  const fox = await fixture.openPage(t, {
    userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
  });
  await fox.open("/auth");
  await fox.signIn(account.email);
  await fox.arrivesAt("/");

  await fox.composer.waitFor();
  const settings = await Settings.open(fox, "Security");
  const own = settings.row("Firefox on Linux");
  await own.getByText("this device").waitFor();
  await own.getByText("active now").waitFor();
  await settings.button("Sign out Safari on iPhone").click();
  await settings.confirm(/^Sign out Safari on iPhone\?/u, "Sign Out");
  await settings.row("Safari on iPhone").waitFor({ state: "detached" });
  await fox.toast("Device signed out", "Safari on iPhone");
  await onPhone.arrivesAt("/auth");

  await appPage.open();
  await appPage.composer.waitFor();
  await settings.button("Sign out all others").click();
  await settings.confirm(/^Sign out all devices except this one\?/u, "Sign out all others");
  await appPage.arrivesAt("/auth");
  await eventually(async () =>
    assert.equal(await settings.section("Signed-in devices").getByRole("listitem").count(), 1),
  );
  await settings.button("Sign out this device").click();
  await settings.confirm(/^Sign out this device\?/u, "Sign Out");
  await fox.arrivesAt("/auth");
  await fox.signIn(account.email);
  await fox.arrivesAt("/");
  assert.equal(new URL(fox.page.url()).search, "", "nothing leads back to the settings");
});

test("everything of a person comes in one file", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connectToolbox();
  const chat = await account.newChat("Packing");
  await account.say(chat, "Do I need a rain jacket?");
  await appPage.open();
  const settings = await Settings.open(appPage, "Data");
  const download = appPage.page.waitForEvent("download");
  await settings.button("Download").click();
  const file = await download;
  assert.match(file.suggestedFilename(), /^ai-chat-mcp-export-.*\.json$/u);
  const content = JSON.parse(await readFile(await file.path(), "utf8")) as {
    profile: { email: string };
    connections: { name: string }[];
    chats: { title: string; messages: { content: string }[] }[];
  };
  assert.equal(content.profile.email, account.email);
  assert.deepEqual(
    content.connections.map(({ name }) => name),
    ["toolbox"],
  );
  const packing = content.chats.find(
    ({ title }) => title.startsWith("Packing") || title.startsWith("Do I need"),
  );
  assert.equal(packing?.messages[0]?.content, "Do I need a rain jacket?");
  await appPage.toast("Export downloaded", file.suggestedFilename());
});

test("an account is deleted once its address has been typed, and nothing of it is left", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await appPage.composer.fill("a secret draft");
  const settings = await Settings.open(appPage);
  await settings.change("Delete my account");
  await settings.panel.getByText(/This can.t be undone/u).waitFor();
  const act = settings.button("Delete everything");
  assert.ok(await act.isDisabled());
  await settings.field(`Type ${account.email} to confirm`).fill(`x${account.email}`);
  assert.ok(await act.isDisabled());
  await settings.field(`Type ${account.email} to confirm`).fill(account.email.toUpperCase());
  await act.click();
  await appPage.arrivesAt("/auth");
  await appPage.toast("Account deleted", "All your data has been deleted.");
  const kept = await appPage.page.evaluate(() => Object.keys(localStorage));
  assert.deepEqual(
    kept.filter((key) => key !== "theme"),
    [],
  );
  await appPage.signIn(account.email);
  await appPage.toast("Sign in failed", "Invalid login credentials");
});
