import assert from "node:assert/strict";
import { after, test, type TestContext } from "node:test";
import { newEmail, password } from "./account.ts";
import { closeToasts, desk, focusedName, holdToast, inspect, type Look, looks, reach } from "./look.ts";
import { Mailbox } from "./mailbox.ts";
import { Settings } from "./settings.ts";
import { startFixture } from "./fixture.ts";
import { totp } from "./totp.ts";
import { type AppPage, eventually } from "./app-page.ts";

const mailbox = await Mailbox.open();
after(() => mailbox.close());
const fixture = await startFixture(mailbox.env);

type Inspect = (appPage: AppPage, screen: string) => Promise<void>;

for (const [name, options] of looks) {
  test(`every screen of the account is free of accessibility faults at ${name}, and fits`, async (t) => {
    const look: Inspect = (appPage, screen) => inspect(appPage, screen, options);
    const { email, appPage } = await walkConfirmation(t, options, look);
    const secret = await walkSettings(appPage, email, look);
    await walkCode(t, options, email, secret, look);
    await walkRecovery(t, options, email, look);
    await walkLinks(t, options, look);
  });
}

async function walkConfirmation(t: TestContext, options: Look, look: Inspect) {
  const appPage = await fixture.openPage(t, { ...options });
  const email = newEmail();
  await appPage.open("/auth");
  await appPage.signUp(email);
  await appPage.page.getByRole("heading", { name: "Check your email" }).waitFor();
  await closeToasts(appPage);
  await look(appPage, "unconfirmed");
  await appPage.open((await mailbox.next(email)).link);
  await appPage.arrivesAt("/");
  await closeToasts(appPage);
  return { email, appPage };
}

async function walkSettings(appPage: AppPage, email: string, look: Inspect): Promise<string> {
  const settings = await Settings.open(appPage);
  await look(appPage, "settings");
  await settings.goTo("Security");
  await settings.row("this device").waitFor();
  await look(appPage, "settings-security");
  for (const part of ["Name", "Email", "Password", "API key", "Delete my account"] as const) {
    await settings.change(part);
    await settings.toggle(part).and(settings.panel.locator("[aria-expanded=true]")).waitFor();
    await look(appPage, `settings-${part.toLowerCase().replaceAll(" ", "-")}`);
  }
  await settings.change("Password");
  await settings.field("Current password").fill("not it");
  await settings.field("New password").fill("another horse");
  await settings.button("Change password").click();
  await settings.panel.getByRole("alert").waitFor();
  await look(appPage, "settings-password-wrong");
  await settings.change("Email");
  await settings.field("New email").fill(`new-${email}`);
  await settings.button("Change email").click();
  await settings.panel.getByText(/^Your email changes to/u).waitFor();
  await holdToast(appPage);
  await look(appPage, "settings-toast");
  await closeToasts(appPage);
  await settings.change("Authenticator app");
  await settings.field("Authenticator name").fill("My phone");
  await look(appPage, "settings-two-step-name");
  await settings.button("Continue").click();
  await settings.panel.getByRole("img").waitFor();
  await look(appPage, "settings-two-step-picture");
  const secret = (await settings.panel.locator("code").textContent()) ?? "";
  await settings.field("Code from the app").fill(await totp(secret, -1));
  await settings.button("Verify").click();
  await settings.panel.getByRole("list", { name: "Recovery codes" }).waitFor();
  await closeToasts(appPage);
  await look(appPage, "settings-recovery-codes");
  await settings.button("I have saved them").click();
  await settings.addAuthenticator("The old tablet in the kitchen");
  await closeToasts(appPage);
  await settings.button("Remove My phone").click();
  // The question is at its place when it could be answered.
  await settings.panel.getByRole("button", { name: "Remove", exact: true }).click({ trial: true });
  await look(appPage, "settings-remove");
  return secret;
}

async function walkCode(t: TestContext, options: Look, email: string, secret: string, look: Inspect) {
  const appPage = await fixture.openPage(t, { ...options });
  await appPage.open("/auth");
  await appPage.signIn(email);
  await appPage.field("Authenticator").waitFor();
  await look(appPage, "code");
  await appPage.field("Code").fill("000000");
  await appPage.button("Verify").click();
  await appPage.page.getByRole("alert").waitFor();
  await look(appPage, "code-wrong");
  await appPage.button("Use a recovery code").click();
  await appPage.field("Recovery code").fill("0000-0000-0000-0000");
  await appPage.button("Verify").click();
  await appPage.page.getByRole("alert").waitFor();
  await look(appPage, "code-recovery");
  await appPage.button("Use my authenticator").click();
  await appPage.field("Code").fill(await totp(secret));
  await appPage.button("Verify").click();
  await appPage.arrivesAt("/");
  const settings = await Settings.open(appPage, "Security");
  await settings.section("Signed-in devices").scrollIntoViewIfNeeded();
  await settings.button(/^Sign out all others$/u).click();
  await look(appPage, "settings-devices");
}

async function walkRecovery(t: TestContext, options: Look, email: string, look: Inspect) {
  const appPage = await fixture.openPage(t, { ...options });
  await appPage.open("/auth");
  await appPage.button("Forgot password?").click();
  await appPage.field("Email").fill(email);
  await look(appPage, "forgot");
  await appPage.button("Send link").click();
  await appPage.page.getByRole("heading", { name: "Check your email" }).waitFor();
  await look(appPage, "forgot-sent");
  // A person without authenticators, whom the link leads straight to the form.
  const { account } = await memberWithMail(t);
  await appPage.open("/auth");
  await appPage.button("Forgot password?").click();
  await appPage.field("Email").fill(account);
  await appPage.button("Send link").click();
  const { link } = await mailbox.next(account);
  const late = await fixture.openPage(t, { ...options });
  await appPage.open(link);
  await appPage.page.getByRole("heading", { name: "Choose a new password" }).waitFor();
  await look(appPage, "new-password");
  await late.open(link);
  await late.page.getByRole("heading", { name: "This link no longer works" }).waitFor();
  await look(late, "link-failed");
}

async function walkLinks(t: TestContext, options: Look, look: Inspect) {
  const { account } = await memberWithMail(t);
  const appPage = await fixture.openPage(t, { ...options });
  const link = async () => {
    const answer = await fetch(`${fixture.app.url}/auth/v1/token?grant_type=password`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email: account, password }),
    });
    const { access_token, refresh_token } = (await answer.json()) as Record<string, string>;
    return `/#access_token=${access_token}&refresh_token=${refresh_token}&type=magiclink`;
  };
  const question = appPage.page.getByRole("dialog", { name: `Sign in as ${account}?` });
  await appPage.open(await link());
  await question.waitFor();
  await look(appPage, "link-question");
  await appPage.button("Don't sign in").click();
  const email = newEmail();
  await appPage.open("/auth");
  await appPage.signUp(email);
  await closeToasts(appPage);
  const other = await fixture.openPage(t, { ...options });
  const mail = await mailbox.next(email);
  await other.open(mail.link);
  await other.page.getByRole("heading", { name: "Your email address is confirmed" }).waitFor();
  await look(other, "confirmed");
  await appPage.button("Back to sign-in").click();
  await appPage.signIn(email);
  await appPage.composer.waitFor();
  await appPage.open(await link());
  await question.waitFor();
  await look(appPage, "link-question-signed-in");
  await other.button("Sign In").click();
  await other.button("Forgot password?").click();
  await other.field("Email").fill(email);
  await other.button("Send link").click();
  const phone = await fixture.openPage(t, { ...options });
  await phone.open((await mailbox.next(email)).link);
  await phone.page.getByRole("heading", { name: "Open this link in the original browser" }).waitFor();
  await look(phone, "link-elsewhere");
}

async function memberWithMail(t: TestContext) {
  const appPage = await fixture.openPage(t);
  const account = newEmail();
  await appPage.open("/auth");
  await appPage.signUp(account);
  await appPage.page.getByRole("heading", { name: "Check your email" }).waitFor();
  await appPage.open((await mailbox.next(account)).link);
  await appPage.composer.waitFor();
  return { account, appPage };
}

test("the settings can be used with the keyboard alone", async (t) => {
  const { account, appPage } = await memberWithMail(t);
  const { page } = appPage;
  await appPage.page.setViewportSize(desk);
  await reach(appPage, "Settings", "Shift+Tab");
  await page.keyboard.press("Enter");
  const settings = new Settings(appPage);
  await settings.panel.waitFor();
  await reach(appPage, "Change");
  await page.keyboard.press("Enter");
  await settings.field("Your name").waitFor();
  await page.keyboard.type("Mira");
  await page.keyboard.press("Enter");
  await appPage.toast("Name saved", "Name saved");
  assert.equal(await focusedName(appPage), "Change", "the focus comes back to what opened the form");

  await reach(appPage, "Security", "Shift+Tab");
  await page.keyboard.press("Enter");
  await eventually(async () => assert.equal(await focusedName(appPage), "Security"));
  await settings.heading("Security").and(page.locator(":focus")).waitFor();
  await reach(appPage, "Set up");
  await page.keyboard.press("Enter");
  await settings.field("Authenticator name").waitFor();
  await page.keyboard.type("My phone");
  await page.keyboard.press("Enter");
  await settings.panel.getByRole("img").waitFor();
  const secret = (await settings.panel.locator("code").textContent()) ?? "";
  await reach(appPage, "Copy secret");
  await page.keyboard.press("Tab");
  await page.keyboard.type(await totp(secret, -1));
  await page.keyboard.press("Enter");
  await settings.row("My phone").waitFor();

  await reach(appPage, "Remove My phone", "Shift+Tab");
  await page.keyboard.press("Enter");
  // The question takes the focus when it opens; its own name begins like that of its button.
  await eventually(async () => assert.notEqual(await focusedName(appPage), "Remove My phone"));
  if ((await focusedName(appPage)) !== "Remove") await page.keyboard.press("Tab");
  assert.equal(await focusedName(appPage), "Remove");
  await page.keyboard.press("Enter");
  await settings.row("My phone").waitFor({ state: "detached" });
  await page.keyboard.press("Escape");
  await settings.panel.waitFor({ state: "detached" });
  assert.equal(await focusedName(appPage), "Settings");
  await page.getByRole("banner").getByText("Mira", { exact: true }).waitFor();
  await appPage.sees(account);
});
