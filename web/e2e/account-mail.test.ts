import assert from "node:assert/strict";
import { after, test } from "node:test";
import { newEmail, password } from "./account.ts";
import { Mailbox } from "./mailbox.ts";
import { ageSignIns } from "./old-sign-ins.ts";
import { Settings } from "./settings.ts";
import { startFixture } from "./fixture.ts";
import type { AppPage } from "./app-page.ts";

const mailbox = await Mailbox.open();
after(() => mailbox.close());
/** Accounts and addresses wait for their confirmation. */
const fixture = await startFixture(mailbox.env);
/** Counts mails and calls, as it does outside of tests. */
const strict = await startFixture({ ...mailbox.env, CHAT_RATE_LIMITS: "on" });
/** Wants a code for a new password when the sign-in is old. */
const careful = await startFixture({ ...mailbox.env, CHAT_PASSWORD_REAUTHENTICATION: "on" });

/** Signs up in the page and confirms the account in the same tab. */
async function confirmed(appPage: AppPage, email = newEmail()): Promise<string> {
  await appPage.open("/auth");
  await appPage.signUp(email);
  await appPage.page.getByRole("heading", { name: "Check your email" }).waitFor();
  await appPage.open((await mailbox.next(email)).link);
  await appPage.arrivesAt("/");
  await appPage.composer.waitFor();
  return email;
}

/** Returns the URL without its path. */
const rest = (appPage: AppPage): string => {
  const { search, hash } = new URL(appPage.page.url());
  return search + hash;
};

test("a new account waits for its e-mail, can have the mail sent again, and is let in by the link", async (t) => {
  const appPage = await fixture.openPage(t);
  const email = newEmail();
  await appPage.open("/auth");
  await appPage.signUp(email);
  await appPage.toast("Account created!", "Please check your email to confirm your account.");
  await appPage.page.getByRole("heading", { name: "Check your email" }).waitFor();
  await appPage.sees(new RegExp(email, "u"));
  const resend = appPage.button(/^Send again in \d+ s$/u);
  assert.equal(await resend.getAttribute("aria-disabled"), "true");

  await appPage.button("Back to sign-in").click();
  await appPage.signIn(email);
  await appPage.toast("Sign in failed", "Email not confirmed");
  await appPage.page.getByRole("heading", { name: "Check your email" }).waitFor();
  await appPage.button("Send again").waitFor();

  const mail = await mailbox.next(email);
  const other = await appPage.anotherTab();
  await other.open(mail.link);
  await other.arrivesAt("/");
  await other.toast("Email confirmed", "You are signed in.");
  assert.equal(rest(other), "");
  await appPage.arrivesAt("/");
  await appPage.composer.waitFor();
});

test("the mail can be had again after a minute", async (t) => {
  const appPage = await fixture.openPage(t);
  const email = newEmail();
  await appPage.page.clock.install();
  await appPage.open("/auth");
  await appPage.signUp(email);
  await mailbox.next(email);
  await appPage.button(/^Send again in \d+ s$/u).click({ force: true });
  assert.equal(mailbox.unread(email).length, 0);
  await appPage.page.clock.runFor(61_000);
  await appPage.button("Send again").click();
  await appPage.toast("A new email is on its way.", "A new email is on its way.");
  await appPage.open((await mailbox.next(email)).link);
  await appPage.arrivesAt("/");
});

test("a mail that is asked for too early is refused with the time to wait", async (t) => {
  const appPage = await strict.openPage(t);
  const email = newEmail();
  await appPage.page.clock.install();
  await appPage.open("/auth");
  await appPage.signUp(email);
  await mailbox.next(email);
  // The page's clock runs ahead of the server's.
  await appPage.button(/^Send again in \d+ s$/u).waitFor();
  await appPage.page.clock.runFor(61_000);
  await appPage.button("Send again").click();
  await appPage.toast("Error", /you can only request this after \d+ seconds/u);
  await appPage.button(/^Send again in \d+ s$/u).waitFor();
});

test("while the mail server is away nothing is half made, and the same form works when it is back", async (t) => {
  const appPage = await fixture.openPage(t);
  const email = newEmail();
  await appPage.open("/auth");
  await mailbox.goDown();
  try {
    await appPage.signUp(email);
    await appPage.toast("Sign up failed", /^Error sending confirmation/u);
  } finally {
    await mailbox.comeBack();
  }
  await appPage.button("Sign Up").click();
  await appPage.toast("Account created!", "Please check your email to confirm your account.");
  await appPage.open((await mailbox.next(email)).link);
  await appPage.arrivesAt("/");
});

test("a forgotten password is replaced through a mailed link, which holds the main screen back until then", async (t) => {
  const appPage = await fixture.openPage(t);
  const email = await confirmed(appPage);
  await appPage.pressInHeader("Sign Out");
  await appPage.arrivesAt("/auth");
  await appPage.field("Email").fill(email);
  await appPage.button("Forgot password?").click();
  assert.equal(await appPage.field("Email").inputValue(), email);
  await appPage.button("Send link").click();
  await appPage.sees(new RegExp(`^If there.s an account for ${email}`, "u"));

  const { link } = await mailbox.next(email);
  await appPage.open(link);
  await appPage.page.getByRole("heading", { name: "Choose a new password" }).waitFor();
  assert.equal(new URL(appPage.page.url()).pathname, "/auth");
  assert.equal(rest(appPage), "");
  await appPage.page.reload();
  await appPage.page.getByRole("heading", { name: "Choose a new password" }).waitFor();
  await appPage.open("/");
  await appPage.page.getByRole("heading", { name: "Choose a new password" }).waitFor();
  await appPage.field("New password").fill(password);
  await appPage.button("Save and continue").click();
  await appPage.page
    .getByRole("alert")
    .getByText(/different from the old password/u)
    .waitFor();
  await appPage.field("New password").fill("a new horse");
  await appPage.button("Save and continue").click();
  await appPage.arrivesAt("/");
  await appPage.toast("Password changed", "You are signed in.");
  await appPage.composer.waitFor();

  const again = await fixture.openPage(t);
  await again.open("/auth");
  await again.signIn(email, "a new horse");
  await again.arrivesAt("/");
  const late = await fixture.openPage(t);
  await late.open(link);
  await late.page.getByRole("heading", { name: "This link no longer works" }).waitFor();
  assert.equal(rest(late), "", "the address says nothing of it");
  await late.button("Send a new reset link").click();
  await late.page.getByRole("heading", { name: "Forgot your password?" }).waitFor();
});

test("an address without an account is told the same, and gets no mail", async (t) => {
  const appPage = await fixture.openPage(t);
  const email = newEmail();
  await appPage.open("/auth");
  await appPage.button("Forgot password?").click();
  await appPage.field("Email").fill(email);
  await appPage.button("Send link").click();
  await appPage.sees(new RegExp(`^If there.s an account for ${email}`, "u"));
  assert.equal(mailbox.unread(email).length, 0);
});

test("a link that has been used tells who is signed in that nothing is lost", async (t) => {
  const appPage = await fixture.openPage(t);
  const email = newEmail();
  await appPage.open("/auth");
  await appPage.signUp(email);
  await appPage.page.getByRole("heading", { name: "Check your email" }).waitFor();
  const { link } = await mailbox.next(email);
  await appPage.open(link);
  await appPage.arrivesAt("/");
  await appPage.composer.waitFor();
  await appPage.open(link);
  await appPage.toast(
    "This link no longer works",
    "It has expired or was already used. You're still signed in.",
  );
  await appPage.composer.waitFor();
  assert.equal(rest(appPage), "");
});

test("a new address holds when both mails have been answered, in every tab", async (t) => {
  const appPage = await fixture.openPage(t);
  const email = await confirmed(appPage);
  const other = await appPage.anotherTab();
  await other.open();
  await other.sees(email);
  const settings = await Settings.open(appPage);
  await settings.change("Email");
  const next = newEmail();
  await settings.field("New email").fill(next);
  await settings.panel.getByText(/The change takes effect when you.ve opened both/u).waitFor();
  await settings.button("Change email").click();
  await appPage.toast("Check your email", "Open the links we sent to both addresses.");
  await settings.panel
    .getByRole("status")
    .getByText(new RegExp(`^Your email changes to ${next}`, "u"))
    .waitFor();

  await other.open((await mailbox.next(next)).link);
  await other.toast("One more link to open", /open the link we sent to the other address/u);
  await other.sees(email);
  await other.open((await mailbox.next(email)).link);
  await other.toast("Email changed", `You now sign in with ${next}.`);
  await other.page.getByRole("banner").getByText(next).waitFor();
  await settings.section("Account").getByText(next, { exact: true }).waitFor();
  assert.equal(await settings.panel.getByText(/^Your email changes to/u).count(), 0);
  await settings.button("Close").first().click();
  await appPage.page.getByRole("banner").getByText(next).waitFor();
});

test("a sign-in of another day gets a code by mail before it may change the password", async (t) => {
  const appPage = await careful.openPage(t);
  const email = await confirmed(appPage);
  const settings = await Settings.open(appPage);
  ageSignIns(careful.app.dataDir);
  await settings.change("Password");
  await settings.field("Current password").fill(password);
  await settings.field("New password").fill("a new horse");
  await settings.button("Change password").click();
  const dialog = appPage.page.getByRole("dialog", { name: "Confirm your identity" });
  await dialog.getByRole("button", { name: "Email me a code" }).click();
  const mail = await mailbox.next(email);
  await dialog.getByLabel("Code from the email").fill("000000");
  await dialog.getByRole("button", { name: "Continue" }).click();
  await dialog.getByRole("alert").waitFor();
  await dialog.getByLabel("Code from the email").fill(mail.code);
  await dialog.getByRole("button", { name: "Continue" }).click();
  await appPage.toast("Password changed", "All other devices have been signed out.");
});

test("no mail, no way to a forgotten password that could not end", async (t) => {
  const { mail } = await bootOf(fixture.app.url);
  assert.equal(mail, true);
  const appPage = await fixture.openPage(t);
  await appPage.page.route("**/auth", async (route) => {
    const answer = await route.fetch();
    await route.fulfill({
      response: answer,
      body: (await answer.text()).replace('"mail":true', '"mail":false'),
    });
  });
  await appPage.open("/auth");
  await appPage.button("Sign In").waitFor();
  assert.equal(await appPage.button("Forgot password?").count(), 0);
});

async function bootOf(origin: string): Promise<{ mail: boolean }> {
  const html = await (await fetch(`${origin}/auth`)).text();
  return JSON.parse(/id="boot">([^<]+)</u.exec(html)?.[1] ?? "{}") as { mail: boolean };
}
