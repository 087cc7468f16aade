import assert from "node:assert/strict";
import { after, test } from "node:test";
import { newEmail, password } from "./account.ts";
import { Mailbox } from "./mailbox.ts";
import { ageSignIns } from "./old-sign-ins.ts";
import { Settings } from "./settings.ts";
import { openStage } from "./stage.ts";
import type { Visitor } from "./visitor.ts";

const mailbox = await Mailbox.open();
after(() => mailbox.close());
/** Accounts and addresses wait for their confirmation. */
const stage = await openStage(mailbox.env);
/** Counts mails and calls, as it does outside of tests. */
const strict = await openStage({ ...mailbox.env, CHAT_RATE_LIMITS: "on" });
/** Wants a code for a new password when the sign-in is old. */
const careful = await openStage({ ...mailbox.env, CHAT_PASSWORD_REAUTHENTICATION: "on" });

/** Makes an account by hand, and confirms it in the same tab. */
async function confirmed(visitor: Visitor, email = newEmail()): Promise<string> {
  await visitor.open("/auth");
  await visitor.signUp(email);
  await visitor.page.getByRole("heading", { name: "Check your email" }).waitFor();
  await visitor.open((await mailbox.next(email)).link);
  await visitor.arrivesAt("/");
  await visitor.composer.waitFor();
  return email;
}

/** What the address says beside the path. */
const rest = (visitor: Visitor): string => {
  const { search, hash } = new URL(visitor.page.url());
  return search + hash;
};

test("a new account waits for its e-mail, can have the mail sent again, and is let in by the link", async (t) => {
  const visitor = await stage.visitor(t);
  const email = newEmail();
  await visitor.open("/auth");
  await visitor.signUp(email);
  await visitor.toast("Account created!", "Please check your email to confirm your account.");
  await visitor.page.getByRole("heading", { name: "Check your email" }).waitFor();
  await visitor.sees(new RegExp(email, "u"));
  const resend = visitor.button(/^Send again in \d+ s$/u);
  assert.equal(await resend.getAttribute("aria-disabled"), "true");

  await visitor.button("Back to sign-in").click();
  await visitor.signIn(email);
  await visitor.toast("Sign in failed", "Email not confirmed");
  await visitor.page.getByRole("heading", { name: "Check your email" }).waitFor();
  await visitor.button("Send again").waitFor();

  const mail = await mailbox.next(email);
  const other = await visitor.anotherTab();
  await other.open(mail.link);
  await other.arrivesAt("/");
  await other.toast("Email confirmed", "You are signed in.");
  assert.equal(rest(other), "");
  await visitor.arrivesAt("/");
  await visitor.composer.waitFor();
});

test("the mail can be had again after a minute", async (t) => {
  const visitor = await stage.visitor(t);
  const email = newEmail();
  await visitor.page.clock.install();
  await visitor.open("/auth");
  await visitor.signUp(email);
  await mailbox.next(email);
  await visitor.button(/^Send again in \d+ s$/u).click({ force: true });
  assert.equal(mailbox.unread(email).length, 0);
  await visitor.page.clock.runFor(61_000);
  await visitor.button("Send again").click();
  await visitor.toast("A new email is on its way.", "A new email is on its way.");
  await visitor.open((await mailbox.next(email)).link);
  await visitor.arrivesAt("/");
});

test("a mail that is asked for too early is refused with the time to wait", async (t) => {
  const visitor = await strict.visitor(t);
  const email = newEmail();
  await visitor.page.clock.install();
  await visitor.open("/auth");
  await visitor.signUp(email);
  await mailbox.next(email);
  // The page's clock runs ahead of the server's.
  await visitor.button(/^Send again in \d+ s$/u).waitFor();
  await visitor.page.clock.runFor(61_000);
  await visitor.button("Send again").click();
  await visitor.toast("Error", /you can only request this after \d+ seconds/u);
  await visitor.button(/^Send again in \d+ s$/u).waitFor();
});

test("while the mail server is away nothing is half made, and the same form works when it is back", async (t) => {
  const visitor = await stage.visitor(t);
  const email = newEmail();
  await visitor.open("/auth");
  await mailbox.goDown();
  try {
    await visitor.signUp(email);
    await visitor.toast("Sign up failed", /^Error sending confirmation/u);
  } finally {
    await mailbox.comeBack();
  }
  await visitor.button("Sign Up").click();
  await visitor.toast("Account created!", "Please check your email to confirm your account.");
  await visitor.open((await mailbox.next(email)).link);
  await visitor.arrivesAt("/");
});

test("a forgotten password is replaced through a mailed link, which holds the main screen back until then", async (t) => {
  const visitor = await stage.visitor(t);
  const email = await confirmed(visitor);
  await visitor.button("Sign Out").click();
  await visitor.arrivesAt("/auth");
  await visitor.field("Email").fill(email);
  await visitor.button("Forgot password?").click();
  assert.equal(await visitor.field("Email").inputValue(), email);
  await visitor.button("Send link").click();
  await visitor.sees(new RegExp(`^If there's an account for ${email}`, "u"));

  const { link } = await mailbox.next(email);
  await visitor.open(link);
  await visitor.page.getByRole("heading", { name: "Choose a new password" }).waitFor();
  assert.equal(new URL(visitor.page.url()).pathname, "/auth");
  assert.equal(rest(visitor), "");
  await visitor.page.reload();
  await visitor.page.getByRole("heading", { name: "Choose a new password" }).waitFor();
  await visitor.open("/");
  await visitor.page.getByRole("heading", { name: "Choose a new password" }).waitFor();
  await visitor.field("New password").fill(password);
  await visitor.button("Save and continue").click();
  await visitor.page
    .getByRole("alert")
    .getByText(/different from the old password/u)
    .waitFor();
  await visitor.field("New password").fill("a new horse");
  await visitor.button("Save and continue").click();
  await visitor.arrivesAt("/");
  await visitor.toast("Password changed", "You are signed in.");
  await visitor.composer.waitFor();

  const again = await stage.visitor(t);
  await again.open("/auth");
  await again.signIn(email, "a new horse");
  await again.arrivesAt("/");
  const late = await stage.visitor(t);
  await late.open(link);
  await late.page.getByRole("heading", { name: "This link no longer works" }).waitFor();
  assert.equal(rest(late), "", "the address says nothing of it");
  await late.button("Send a new reset link").click();
  await late.page.getByRole("heading", { name: "Forgot your password?" }).waitFor();
});

test("an address without an account is told the same, and gets no mail", async (t) => {
  const visitor = await stage.visitor(t);
  const email = newEmail();
  await visitor.open("/auth");
  await visitor.button("Forgot password?").click();
  await visitor.field("Email").fill(email);
  await visitor.button("Send link").click();
  await visitor.sees(new RegExp(`^If there's an account for ${email}`, "u"));
  assert.equal(mailbox.unread(email).length, 0);
});

test("a link that has been used tells who is signed in that nothing is lost", async (t) => {
  const visitor = await stage.visitor(t);
  const email = newEmail();
  await visitor.open("/auth");
  await visitor.signUp(email);
  await visitor.page.getByRole("heading", { name: "Check your email" }).waitFor();
  const { link } = await mailbox.next(email);
  await visitor.open(link);
  await visitor.arrivesAt("/");
  await visitor.composer.waitFor();
  await visitor.open(link);
  await visitor.toast(
    "This link no longer works",
    "It has expired or was already used. You're still signed in.",
  );
  await visitor.composer.waitFor();
  assert.equal(rest(visitor), "");
});

test("a new address holds when both mails have been answered, in every tab", async (t) => {
  const visitor = await stage.visitor(t);
  const email = await confirmed(visitor);
  const other = await visitor.anotherTab();
  await other.open();
  await other.sees(email);
  const settings = await Settings.open(visitor);
  await settings.change("Email");
  const next = newEmail();
  await settings.field("New email").fill(next);
  await settings.panel.getByText(/The change takes effect when you've opened both/u).waitFor();
  await settings.button("Change email").click();
  await visitor.toast("Check your email", "Open the links we sent to both addresses.");
  await settings.panel
    .getByRole("status")
    .getByText(new RegExp(`^${next} takes its place`, "u"))
    .waitFor();

  await other.open((await mailbox.next(next)).link);
  await other.toast("One more link to open", /open the link we sent to the other address/u);
  await other.sees(email);
  await other.open((await mailbox.next(email)).link);
  await other.toast("Email changed", `You now sign in with ${next}.`);
  await other.page.getByRole("banner").getByText(next).waitFor();
  await settings.section("Profile").getByText(next, { exact: true }).waitFor();
  assert.equal(await settings.panel.getByText(/^Your email changes to/u).count(), 0);
  await settings.button("Close").first().click();
  await visitor.page.getByRole("banner").getByText(next).waitFor();
});

test("a sign-in of another day gets a code by mail before it may change the password", async (t) => {
  const visitor = await careful.visitor(t);
  const email = await confirmed(visitor);
  const settings = await Settings.open(visitor);
  ageSignIns(careful.app.dataDir);
  await settings.change("Password");
  await settings.field("Current password").fill(password);
  await settings.field("New password").fill("a new horse");
  await settings.button("Change password").click();
  const dialog = visitor.page.getByRole("dialog", { name: "Confirm your identity" });
  await dialog.getByRole("button", { name: "Email me a code" }).click();
  const mail = await mailbox.next(email);
  await dialog.getByLabel("Code from the email").fill("000000");
  await dialog.getByRole("button", { name: "Continue" }).click();
  await dialog.getByRole("alert").waitFor();
  await dialog.getByLabel("Code from the email").fill(mail.code);
  await dialog.getByRole("button", { name: "Continue" }).click();
  await visitor.toast("Password changed", "All other devices have been signed out.");
});

test("no mail, no way to a forgotten password that could not end", async (t) => {
  const { mail } = await bootOf(stage.app.url);
  assert.equal(mail, true);
  const visitor = await stage.visitor(t);
  await visitor.page.route("**/auth", async (route) => {
    const answer = await route.fetch();
    await route.fulfill({
      response: answer,
      body: (await answer.text()).replace('"mail":true', '"mail":false'),
    });
  });
  await visitor.open("/auth");
  await visitor.button("Sign In").waitFor();
  assert.equal(await visitor.button("Forgot password?").count(), 0);
});

async function bootOf(origin: string): Promise<{ mail: boolean }> {
  const html = await (await fetch(`${origin}/auth`)).text();
  return JSON.parse(/id="boot">([^<]+)</u.exec(html)?.[1] ?? "{}") as { mail: boolean };
}
