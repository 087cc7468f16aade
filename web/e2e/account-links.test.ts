import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Account, newEmail, password } from "./account.ts";
import { Mailbox } from "./mailbox.ts";
import { startFixture } from "./fixture.ts";
import type { AppPage } from "./app-page.ts";

const mailbox = await Mailbox.open();
after(() => mailbox.close());
/** Accounts wait for their confirmation. */
const fixture = await startFixture(mailbox.env);
/** Accounts are signed in at once, so that a test has two of them soon. */
const quick = await startFixture({ ...mailbox.env, CHAT_AUTOCONFIRM: "on" });

/** A link as a mail of the implicit flow leads to: it carries a session. */
function linkOf({ session }: Account, type = "magiclink"): string {
  const { access_token, refresh_token } = session;
  return `/#${new URLSearchParams({ access_token, refresh_token, expires_in: "3600", token_type: "bearer", type })}`;
}

const question = (appPage: AppPage, email: string) =>
  appPage.page.getByRole("dialog", { name: `Sign in as ${email}?` });

const banner = (appPage: AppPage, email: string) => appPage.page.getByRole("banner").getByText(email);

/** Returns true if the account's session can be refreshed. */
async function isAlive({ origin, session }: Account): Promise<boolean> {
  const answer = await fetch(`${origin}/auth/v1/token?grant_type=refresh_token`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ refresh_token: session.refresh_token }),
  });
  return answer.ok;
}

/** Returns the URL without its path. */
const rest = (appPage: AppPage): string => {
  const { search, hash } = new URL(appPage.page.url());
  return search + hash;
};

test("a link with the tokens of another account asks before it replaces the own one", async (t) => {
  const { account, appPage } = await quick.openSignedInPage(t);
  await appPage.open();
  await appPage.composer.waitFor();
  const stranger = await Account.create(quick.app.url);
  const other = await appPage.anotherTab();
  await other.open(linkOf(stranger));
  await question(other, stranger.email).waitFor();
  assert.equal(rest(other), "", "the tokens are out of the address");
  await other.page.getByText(`You're currently signed in as ${account.email}.`).waitFor();
  await banner(appPage, account.email).waitFor();

  await other.button(`Stay signed in as ${account.email}`).click();
  await banner(other, account.email).waitFor();
  await appPage.page.reload();
  await banner(appPage, account.email).waitFor();
  assert.equal(await isAlive(stranger), false, "the session of the refused link has ended");
  assert.ok(await isAlive(account));
});

test("Escape refuses the account of a link", async (t) => {
  const { account, appPage } = await quick.openSignedInPage(t);
  const stranger = await Account.create(quick.app.url);
  await appPage.open(linkOf(stranger));
  await question(appPage, stranger.email).waitFor();
  await appPage.page.keyboard.press("Enter");
  await question(appPage, stranger.email).waitFor();
  await appPage.page.keyboard.press("Escape");
  await banner(appPage, account.email).waitFor();
});

test("a confirmed question changes the account in all tabs", async (t) => {
  const { account, appPage } = await quick.openSignedInPage(t);
  await appPage.open();
  await banner(appPage, account.email).waitFor();
  const next = await Account.create(quick.app.url);
  const other = await appPage.anotherTab();
  await other.open(linkOf(next));
  await other.button(`Sign in as ${next.email}`).click();
  await banner(other, next.email).waitFor();
  await banner(appPage, next.email).waitFor();
});

test("a link with tokens asks also where nobody is signed in", async (t) => {
  const appPage = await quick.openPage(t);
  const account = await Account.create(quick.app.url);
  await appPage.open(linkOf(account));
  await question(appPage, account.email).waitFor();
  await appPage.button("Don't sign in").click();
  await appPage.arrivesAt("/auth");
  await appPage.button("Sign In").waitFor();

  await appPage.open("/auth" + linkOf(await account.again(), "recovery").slice(1));
  await appPage.button(`Sign in as ${account.email}`).click();
  await appPage.page.getByRole("heading", { name: "Choose a new password" }).waitFor();
});

test("forged tokens name nobody and sign nobody in", async (t) => {
  const { account, appPage } = await quick.openSignedInPage(t);
  const claims = { sub: account.session.user.id, email: "victim@example.org", exp: 4_000_000_000 };
  const forged = ["e30", Buffer.from(JSON.stringify(claims)).toString("base64url"), "AAAA"].join(".");
  await appPage.open(`/#access_token=${forged}&refresh_token=aaaaaaaaaaaa&type=signup`);
  await appPage.toast("Sign in failed", /./u);
  await banner(appPage, account.email).waitFor();
});

test("an own link asks when another account is signed in meanwhile", async (t) => {
  const appPage = await fixture.openPage(t);
  const current = await signedUp(appPage);
  await appPage.field("Code from the email").fill((await mailbox.next(current)).code);
  await appPage.button("Confirm").click();
  await banner(appPage, current).waitFor();
  await appPage.pressInHeader("Sign Out");
  const email = await signedUp(appPage);
  const { link } = await mailbox.next(email);
  await appPage.button("Back to sign-in").click();
  await appPage.signIn(current);
  await banner(appPage, current).waitFor();
  await appPage.open(link);
  await question(appPage, email).waitFor();
  await appPage.button(`Sign in as ${email}`).click();
  await appPage.toast("Email confirmed", "You are signed in.");
  await banner(appPage, email).waitFor();
});

test("a link confirms and leaves the account alone when its verifier is gone", async (t) => {
  const appPage = await fixture.openPage(t);
  const email = await signedUp(appPage);
  const { link } = await mailbox.next(email);
  const current = await signedUp(appPage);
  await appPage.field("Code from the email").fill((await mailbox.next(current)).code);
  await appPage.button("Confirm").click();
  await banner(appPage, current).waitFor();
  // The verifier of the first sign-up was replaced by that of the second.
  await appPage.open(link);
  await appPage.toast("Email confirmed", `You're still signed in as ${current}.`);
  await banner(appPage, current).waitFor();
});

test("a confirmation link confirms on another device, which is not signed in by it", async (t) => {
  const appPage = await fixture.openPage(t);
  const email = await signedUp(appPage);
  const { link } = await mailbox.next(email);
  const phone = await fixture.openPage(t);
  await phone.open(link);
  await phone.page.getByRole("heading", { name: "Your email address is confirmed" }).waitFor();
  assert.equal(rest(phone), "");
  await phone.button("Sign In").click();
  await phone.signIn(email);
  await phone.arrivesAt("/");
  await banner(phone, email).waitFor();

  await appPage.button("Back to sign-in").click();
  await appPage.signIn(email);
  await banner(appPage, email).waitFor();
});

test("the code of the confirmation mail can be typed", async (t) => {
  const appPage = await fixture.openPage(t);
  const email = await signedUp(appPage);
  const { code } = await mailbox.next(email);
  await appPage.field("Code from the email").fill(code === "000000" ? "111111" : "000000");
  await appPage.button("Confirm").click();
  await appPage.page
    .getByRole("alert")
    .getByText(/^This code is incorrect/u)
    .waitFor();
  assert.equal(await appPage.field("Code from the email").inputValue(), "");
  await appPage.page.keyboard.type(`${code.slice(0, 3)} ${code.slice(3)}`);
  await appPage.page.keyboard.press("Enter");
  await appPage.toast("Email confirmed", "You are signed in.");
  await banner(appPage, email).waitFor();
});

test("a link to a new password works where it was asked for, and its code from any device", async (t) => {
  const account = await Account.create(quick.app.url);
  const appPage = await quick.openPage(t);
  await askForPassword(appPage, account.email);
  const phone = await quick.openPage(t);
  await phone.open((await mailbox.next(account.email)).link);
  await phone.page.getByRole("heading", { name: "Open this link in the original browser" }).waitFor();
  await phone.button("Send a new reset link").click();
  await phone.field("Email").fill(account.email);

  const laptop = await Account.create(quick.app.url);
  const desk = await quick.openPage(t);
  await askForPassword(desk, laptop.email);
  await desk.field("Code from the email").fill((await mailbox.next(laptop.email)).code);
  await desk.button("Confirm").click();
  await desk.page.getByRole("heading", { name: "Choose a new password" }).waitFor();
  await desk.field("New password").fill("a new horse");
  await desk.button("Save and continue").click();
  await banner(desk, laptop.email).waitFor();
});

test("texts of the address are not shown", async (t) => {
  const { appPage } = await quick.openSignedInPage(t);
  await appPage.open("/#error=server_error&error_code=odd&error_description=Call+0800+555+now");
  await appPage.toast(
    "Sign in failed",
    "The link couldn't be used. Request a new one, or sign in with your password.",
  );
  await appPage.composer.waitFor();
  assert.equal(await appPage.page.getByText("0800").count(), 0);
  assert.equal(rest(appPage), "");
});

/** Signs up and waits for the mail. */
async function signedUp(appPage: AppPage): Promise<string> {
  const email = newEmail();
  await appPage.open("/auth");
  await appPage.signUp(email, password);
  await appPage.page.getByRole("heading", { name: "Check your email" }).waitFor();
  return email;
}

async function askForPassword(appPage: AppPage, email: string): Promise<void> {
  await appPage.open("/auth");
  await appPage.button("Forgot password?").click();
  await appPage.field("Email").fill(email);
  await appPage.button("Send link").click();
  await appPage.sees(new RegExp(`^If there.s an account for ${email}`, "u"));
}
