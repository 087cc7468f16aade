import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Mailbox } from "./mailbox.ts";
import { Settings } from "./settings.ts";
import { startFixture } from "./fixture.ts";
import { totp } from "./totp.ts";
import { eventually, type AppPage } from "./app-page.ts";

const mailbox = await Mailbox.open();
after(() => mailbox.close());
const fixture = await startFixture({ ...mailbox.env, CHAT_AUTOCONFIRM: "on" });

const banner = (appPage: AppPage) => appPage.page.getByRole("banner");
const storedToken = (appPage: AppPage) =>
  appPage.page.evaluate(() => {
    const session = JSON.parse(localStorage.getItem("sb-localhost-auth-token") ?? "{}") as {
      access_token?: string;
    };
    return session.access_token;
  });

test("signing in in one tab lets the other in, and signing out in one leads both away", async (t) => {
  const { account } = await fixture.openSignedInPage(t);
  const appPage = await fixture.openPage(t);
  const other = await appPage.anotherTab();
  await appPage.open("/auth");
  await other.open("/auth");
  await appPage.signIn(account.email);
  await appPage.arrivesAt("/");
  await other.arrivesAt("/");
  await other.composer.fill("kept through it all");
  await other.pressInHeader("Sign Out");
  await appPage.arrivesAt("/auth");
  await other.arrivesAt("/auth");
});

test("signing out in one browser leaves the others signed in", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const elsewhere = await fixture.openPage(t);
  await elsewhere.open("/auth");
  await elsewhere.signIn(account.email);
  await elsewhere.arrivesAt("/");
  await appPage.open();
  await appPage.pressInHeader("Sign Out");
  await appPage.arrivesAt("/auth");
  await elsewhere.page.reload();
  await elsewhere.sees(account.email);
  await elsewhere.composer.waitFor();
});

test("a token that one tab renews is the one that both use", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await appPage.composer.waitFor();
  const other = await appPage.anotherTab();
  await other.open();
  await other.composer.waitFor();
  const before = await storedToken(other);
  // The auth client renews a session that is about to end when its page is opened.
  await appPage.page.evaluate(() => {
    const name = "sb-localhost-auth-token";
    const session = JSON.parse(localStorage.getItem(name) ?? "{}") as object;
    localStorage.setItem(
      name,
      JSON.stringify({ ...session, expires_at: Math.floor(Date.now() / 1_000) + 5 }),
    );
  });
  await appPage.page.reload();
  await appPage.composer.waitFor();
  await eventually(async () => assert.notEqual(await storedToken(other), before));
  const renewed = await storedToken(other);
  const request = other.page.waitForRequest(/\/functions\/v1\/ai-chat/u);
  await other.ask("Hello?");
  assert.equal((await request).headers()["authorization"], `Bearer ${renewed}`);
  await other.answered();
  await other.sees(account.email);
});

test("a changed name shows in both tabs", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  const other = await appPage.anotherTab();
  await other.open();
  await other.composer.waitFor();
  const settings = await Settings.open(appPage);
  await settings.change("Name");
  await settings.field("Your name").fill("Mira");
  await settings.button("Save").click();
  await banner(other).getByText("Mira", { exact: true }).waitFor();
  await settings.button("Close").first().click();
  await banner(appPage).getByText("Mira", { exact: true }).waitFor();
});

test("a link to a new password opens the form in both tabs, and saving it in one lets both in", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await appPage.composer.fill("Do not lose this");
  const other = await appPage.anotherTab();
  await fetch(
    `${fixture.app.url}/auth/v1/recover?redirect_to=${encodeURIComponent(`${fixture.app.url}/auth`)}`,
    {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email: account.email }),
    },
  );
  await other.open((await mailbox.next(account.email)).link);
  for (const tab of [other, appPage]) {
    await tab.page.getByRole("heading", { name: "Choose a new password" }).waitFor();
    assert.equal(new URL(tab.page.url()).pathname, "/auth");
  }
  await other.field("New password").fill("a new horse");
  await other.button("Save and continue").click();
  await other.arrivesAt("/");
  await appPage.arrivesAt("/");
  assert.equal(await appPage.composer.inputValue(), "Do not lose this");
});

test("the code given in one tab lets the other in", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  const secret = await (await Settings.open(appPage)).addAuthenticator("My phone");
  const one = await fixture.openPage(t);
  const two = await one.anotherTab();
  await one.open("/auth");
  await one.signIn(account.email);
  await one.field("Code").waitFor();
  await two.open();
  await two.field("Code").waitFor();
  await one.field("Code").fill(await totp(secret));
  await one.button("Verify").click();
  await one.arrivesAt("/");
  await two.arrivesAt("/");
  await two.composer.waitFor();
});

test("the first authenticator signs out the sign-ins that gave no code", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const elsewhere = await fixture.openPage(t);
  await elsewhere.open("/auth");
  await elsewhere.signIn(account.email);
  await elsewhere.composer.fill("Do not lose this");
  await appPage.open();
  const secret = await (await Settings.open(appPage)).addAuthenticator("My phone");
  await elsewhere.arrivesAt("/auth");
  await elsewhere.signIn(account.email);
  await elsewhere.field("Code").fill(await totp(secret));
  await elsewhere.button("Verify").click();
  await elsewhere.arrivesAt("/");
  assert.equal(await elsewhere.composer.inputValue(), "Do not lose this");
});
