import assert from "node:assert/strict";
import { after, test, type TestContext } from "node:test";
import { newEmail, password } from "./account.ts";
import { closeToasts, desk, focusedName, holdToast, inspect, type Look, looks, reach } from "./look.ts";
import { Mailbox } from "./mailbox.ts";
import { Settings } from "./settings.ts";
import { openStage } from "./stage.ts";
import { totp } from "./totp.ts";
import type { Visitor } from "./visitor.ts";

const mailbox = await Mailbox.open();
after(() => mailbox.close());
const stage = await openStage(mailbox.env);

type Inspect = (visitor: Visitor, screen: string) => Promise<void>;

for (const [name, options] of looks) {
  test(`every screen of the account is free of accessibility faults at ${name}, and fits`, async (t) => {
    const look: Inspect = (visitor, screen) => inspect(visitor, screen, options);
    const { email, visitor } = await walkConfirmation(t, options, look);
    const secret = await walkSettings(visitor, email, look);
    await walkCode(t, options, email, secret, look);
    await walkRecovery(t, options, email, look);
    await walkLinks(t, options, look);
  });
}

async function walkConfirmation(t: TestContext, options: Look, look: Inspect) {
  const visitor = await stage.visitor(t, { ...options });
  const email = newEmail();
  await visitor.open("/auth");
  await visitor.signUp(email);
  await visitor.page.getByRole("heading", { name: "Check your email" }).waitFor();
  await closeToasts(visitor);
  await look(visitor, "unconfirmed");
  await visitor.open((await mailbox.next(email)).link);
  await visitor.arrivesAt("/");
  await closeToasts(visitor);
  return { email, visitor };
}

async function walkSettings(visitor: Visitor, email: string, look: Inspect): Promise<string> {
  const settings = await Settings.open(visitor);
  await settings.row("this device").waitFor();
  await look(visitor, "settings");
  for (const part of ["Name", "Email", "Password", "API key", "Delete my account"] as const) {
    await settings.change(part);
    await settings.toggle(part).and(settings.panel.locator("[aria-expanded=true]")).waitFor();
    await look(visitor, `settings-${part.toLowerCase().replaceAll(" ", "-")}`);
  }
  await settings.change("Password");
  await settings.field("Current password").fill("not it");
  await settings.field("New password").fill("another horse");
  await settings.button("Change password").click();
  await settings.panel.getByRole("alert").waitFor();
  await look(visitor, "settings-password-wrong");
  await settings.change("Email");
  await settings.field("New email").fill(`new-${email}`);
  await settings.button("Change email").click();
  await settings.panel.getByText(/^Your email changes to/u).waitFor();
  await holdToast(visitor);
  await look(visitor, "settings-toast");
  await closeToasts(visitor);
  await settings.change("Authenticator app");
  await settings.field("Authenticator name").fill("My phone");
  await look(visitor, "settings-two-step-name");
  await settings.button("Continue").click();
  await settings.panel.getByRole("img").waitFor();
  await look(visitor, "settings-two-step-picture");
  const secret = (await settings.panel.locator("code").textContent()) ?? "";
  await settings.field("Code from the app").fill(await totp(secret, -1));
  await settings.button("Verify").click();
  await closeToasts(visitor);
  await settings.addAuthenticator("The old tablet in the kitchen");
  await closeToasts(visitor);
  await settings.button("Remove My phone").click();
  await look(visitor, "settings-remove");
  return secret;
}

async function walkCode(t: TestContext, options: Look, email: string, secret: string, look: Inspect) {
  const visitor = await stage.visitor(t, { ...options });
  await visitor.open("/auth");
  await visitor.signIn(email);
  await visitor.field("Authenticator").waitFor();
  await look(visitor, "code");
  await visitor.field("Code").fill("000000");
  await visitor.button("Verify").click();
  await visitor.page.getByRole("alert").waitFor();
  await look(visitor, "code-wrong");
  await visitor.field("Code").fill(await totp(secret));
  await visitor.button("Verify").click();
  await visitor.arrivesAt("/");
  const settings = await Settings.open(visitor);
  await settings.section("Signed-in devices").scrollIntoViewIfNeeded();
  await settings.button(/^Sign out all others$/u).click();
  await look(visitor, "settings-devices");
}

async function walkRecovery(t: TestContext, options: Look, email: string, look: Inspect) {
  const visitor = await stage.visitor(t, { ...options });
  await visitor.open("/auth");
  await visitor.button("Forgot password?").click();
  await visitor.field("Email").fill(email);
  await look(visitor, "forgot");
  await visitor.button("Send link").click();
  await visitor.page.getByRole("heading", { name: "Check your email" }).waitFor();
  await look(visitor, "forgot-sent");
  // A person without authenticators, whom the link leads straight to the form.
  const { account } = await memberWithMail(t);
  await visitor.open("/auth");
  await visitor.button("Forgot password?").click();
  await visitor.field("Email").fill(account);
  await visitor.button("Send link").click();
  const { link } = await mailbox.next(account);
  const late = await stage.visitor(t, { ...options });
  await visitor.open(link);
  await visitor.page.getByRole("heading", { name: "Choose a new password" }).waitFor();
  await look(visitor, "new-password");
  await late.open(link);
  await late.page.getByRole("heading", { name: "This link no longer works" }).waitFor();
  await look(late, "link-failed");
}

async function walkLinks(t: TestContext, options: Look, look: Inspect) {
  const { account } = await memberWithMail(t);
  const visitor = await stage.visitor(t, { ...options });
  const link = async () => {
    const answer = await fetch(`${stage.app.url}/auth/v1/token?grant_type=password`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email: account, password }),
    });
    const { access_token, refresh_token } = (await answer.json()) as Record<string, string>;
    return `/#access_token=${access_token}&refresh_token=${refresh_token}&type=magiclink`;
  };
  const question = visitor.page.getByRole("dialog", { name: `Sign in as ${account}?` });
  await visitor.open(await link());
  await question.waitFor();
  await look(visitor, "link-question");
  await visitor.button("Don't sign in").click();
  const email = newEmail();
  await visitor.open("/auth");
  await visitor.signUp(email);
  await closeToasts(visitor);
  const other = await stage.visitor(t, { ...options });
  const mail = await mailbox.next(email);
  await other.open(mail.link);
  await other.page.getByRole("heading", { name: "Your email address is confirmed" }).waitFor();
  await look(other, "confirmed");
  await visitor.button("Back to sign-in").click();
  await visitor.signIn(email);
  await visitor.composer.waitFor();
  await visitor.open(await link());
  await question.waitFor();
  await look(visitor, "link-question-signed-in");
  await other.button("Sign In").click();
  await other.button("Forgot password?").click();
  await other.field("Email").fill(email);
  await other.button("Send link").click();
  const phone = await stage.visitor(t, { ...options });
  await phone.open((await mailbox.next(email)).link);
  await phone.page.getByRole("heading", { name: "Open this link in the original browser" }).waitFor();
  await look(phone, "link-elsewhere");
}

async function memberWithMail(t: TestContext) {
  const visitor = await stage.visitor(t);
  const account = newEmail();
  await visitor.open("/auth");
  await visitor.signUp(account);
  await visitor.page.getByRole("heading", { name: "Check your email" }).waitFor();
  await visitor.open((await mailbox.next(account)).link);
  await visitor.composer.waitFor();
  return { account, visitor };
}

test("the settings can be used with the keyboard alone", async (t) => {
  const { account, visitor } = await memberWithMail(t);
  const { page } = visitor;
  await visitor.page.setViewportSize(desk);
  await reach(visitor, "Settings", "Shift+Tab");
  await page.keyboard.press("Enter");
  const settings = new Settings(visitor);
  await settings.panel.waitFor();
  await reach(visitor, "Change");
  await page.keyboard.press("Enter");
  await settings.field("Your name").waitFor();
  await page.keyboard.type("Mira");
  await page.keyboard.press("Enter");
  await visitor.toast("Name saved", "Name saved");
  assert.equal(await focusedName(visitor), "Change", "the focus comes back to what opened the form");

  await reach(visitor, "Set up");
  await page.keyboard.press("Enter");
  await settings.field("Authenticator name").waitFor();
  await page.keyboard.type("My phone");
  await page.keyboard.press("Enter");
  await settings.panel.getByRole("img").waitFor();
  const secret = (await settings.panel.locator("code").textContent()) ?? "";
  await reach(visitor, "Copy secret");
  await page.keyboard.press("Tab");
  await page.keyboard.type(await totp(secret, -1));
  await page.keyboard.press("Enter");
  await settings.row("My phone").waitFor();

  await reach(visitor, "Remove My phone", "Shift+Tab");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await reach(visitor, "Remove");
  await page.keyboard.press("Enter");
  await settings.row("My phone").waitFor({ state: "detached" });
  await page.keyboard.press("Escape");
  await settings.panel.waitFor({ state: "detached" });
  assert.equal(await focusedName(visitor), "Settings");
  await page.getByRole("banner").getByText("Mira", { exact: true }).waitFor();
  await visitor.sees(account);
});
