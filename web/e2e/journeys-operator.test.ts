import assert from "node:assert/strict";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { Account, newEmail, password } from "./account.ts";
import { type AppPage, eventually } from "./app-page.ts";
import { startFixture, startServerFixture } from "./fixture.ts";
import { freePort } from "./free-port.ts";
import { focusedName, inspect, looks, reach } from "./look.ts";

const token = "the token of an operator who manages";
const adminPort = await freePort();
const origin = `http://localhost:${adminPort}`;
const fixture = await startFixture({
  CHAT_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
  CHAT_ADMIN_TOKEN: token,
  CHAT_BACKUP_DIR: await mkdtemp(join(tmpdir(), "ai-chat-mcp-backups-")),
  CHAT_TOKENS_PER_DAY: "50000",
});

/** Server where sign-up is by invitation, with an operator's page of its own. */
const invitedPort = await freePort();
const invitedOrigin = `http://localhost:${invitedPort}`;
const invited = await startServerFixture({
  CHAT_ADMIN_LISTEN: `127.0.0.1:${invitedPort}`,
  CHAT_ADMIN_TOKEN: token,
  CHAT_SIGNUPS: "invite",
});

const openOperator = (t: TestContext, look: object = {}) => fixture.openPage(t, { origin, ...look });

async function signIn(appPage: AppPage, typed = token): Promise<void> {
  await appPage.field("Token").fill(typed);
  await appPage.page.keyboard.press("Enter");
}

/** Opens a section as a signed-in operator. */
async function openSection(appPage: AppPage, hash: string): Promise<void> {
  await appPage.page.addInitScript((value) => sessionStorage.setItem("operator-token", value), token);
  await appPage.open(`/#${hash}`);
}

const heading = (page: Page, name: string) => page.getByRole("heading", { level: 2, name, exact: true });
const region = (page: Page, name: string) => page.getByRole("region", { name, exact: true });

/** Calls the operator's API of a server. */
async function callOperator(path: string, method = "GET", body?: object, at = origin): Promise<unknown> {
  const response = await fetch(`${at}/admin/api${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  assert.ok(response.ok, `${path}: ${response.status}`);
  return response.status === 204 ? undefined : response.json();
}

test("only the right token opens the operator's page, and it stays in the tab", async (t) => {
  const appPage = await openOperator(t);
  const { page } = appPage;
  const response = await page.goto("/");
  assert.match(response?.headers()["content-security-policy"] ?? "", /script-src 'self'; /u);
  await signIn(appPage, "another token, as long as the right one");
  await page.getByRole("alert").getByText("The server doesn't accept this token.").waitFor();
  assert.equal(await page.getByRole("navigation").count(), 0);
  await signIn(appPage);
  await heading(page, "Users").waitFor();
  await page.reload();
  await heading(page, "Users").waitFor();
  const kept = await page.evaluate(() => [document.cookie, Object.keys(localStorage).length, location.href]);
  assert.deepEqual(kept, ["", 0, `${origin}/#/users`]);
  await appPage.button("Sign out").click();
  await appPage.field("Token").waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
});

test("the keyboard reaches everything, and keeps its place", async (t) => {
  const appPage = await openOperator(t);
  const { page } = appPage;
  await appPage.open();
  await appPage.field("Token").focus();
  await page.keyboard.type(token);
  await page.keyboard.press("Enter");
  await heading(page, "Users").waitFor();
  await reach(appPage, "Invite user");
  await page.keyboard.press("Enter");
  await appPage.field("Email address").waitFor();
  await page.keyboard.press("Escape");
  await eventually(async () => assert.equal(await focusedName(appPage), "Invite user"));
  await reach(appPage, "System", "Shift+Tab");
  await page.keyboard.press("Enter");
  await heading(page, "System").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "MAIN", "reading goes on there");
  assert.equal(await page.title(), "System – Operator");
  await reach(appPage, "Examine");
});

test("a token that the server no longer accepts leads back to the form", async (t) => {
  const appPage = await openOperator(t);
  await openSection(appPage, "/users");
  await heading(appPage.page, "Users").waitFor();
  await appPage.page.route("**/admin/api/**", (route) =>
    route.fulfill({ status: 401, json: { error: { code: "unauthorized", message: "no" } } }),
  );
  await appPage.page.getByRole("link", { name: "Usage" }).click();
  await appPage.page.getByText("The server no longer accepts the token. Enter it again.").waitFor();
});

test("users' address has neither the operator's page nor its API", async () => {
  const { url } = fixture.app;
  const page = await (await fetch(`${url}/operator.html`)).text();
  assert.doesNotMatch(page, /operator/u);
  const own = await (await fetch(origin)).text();
  const script = /src="(\/assets\/operator-[^"]+\.js)"/u.exec(own)?.[1] ?? "";
  assert.equal((await fetch(`${origin}${script}`)).status, 200);
  assert.equal((await fetch(`${url}${script}`)).status, 404);
  const users = await fetch(`${url}/admin/api/users`, { headers: { authorization: `Bearer ${token}` } });
  assert.match(users.headers.get("content-type") ?? "", /text\/html/u);
});

test("the operator finds a user, locks and unlocks them, and the audit log shows it", async (t) => {
  const account = await Account.create(fixture.app.url);
  await Account.create(fixture.app.url);
  const { email } = account;
  const appPage = await openOperator(t);
  const { page } = appPage;
  await openSection(appPage, "/users");
  await appPage.field("Search users").fill(email.slice(0, 12).toUpperCase());
  await page.getByText("1 user found").waitFor();
  await page.getByRole("link", { name: email }).press("Enter");
  await heading(page, email).waitFor();
  await page.getByText("Active", { exact: true }).waitFor();

  await appPage.field("Lock for").selectOption("7 days");
  await appPage.button("Lock").press("Enter");
  await appPage.toast("User locked", email);
  await page.getByText("Locked", { exact: true }).waitFor();
  const user = await fixture.openPage(t);
  await user.open("/auth");
  await user.signIn(email);
  await user.toast("Sign in failed", "User is banned");

  await appPage.button("Unlock").click();
  await appPage.toast("User unlocked", email);
  await user.signIn(email);
  await user.composer.waitFor();

  await page.getByRole("link", { name: "Audit log of this user" }).click();
  const log = region(page, "Audit log");
  await log.getByText("Account unlocked").waitFor();
  await log.getByText("Account locked").waitFor();
  await appPage.field("Event").selectOption("Account locked");
  await log.getByText("Account unlocked").waitFor({ state: "detached" });
  await eventually(async () => assert.equal(await log.getByRole("listitem").count(), 1));
  await appPage.field("User").fill("nobody@example.com");
  await page.keyboard.press("Enter");
  await page.getByText("no account has this address or id").waitFor();
});

test("an invitation by link creates an account, and its link opens the web app", async (t) => {
  const email = `${crypto.randomUUID()}@example.com`;
  const appPage = await openOperator(t);
  await openSection(appPage, "/users");
  await appPage.button("Invite user").click();
  await appPage.field("Email address").fill(email);
  assert.ok(await appPage.page.getByRole("radio", { name: "The server sends an email" }).isDisabled());
  await appPage.button("Invite").click();
  const link = await appPage.field("Invitation link").inputValue();
  await appPage.button("Done").click();
  await appPage.page.getByRole("link", { name: email }).waitFor();
  const user = await fixture.openPage(t);
  await user.page.goto(link.replace(/^http:\/\/[^/]+/u, fixture.app.url));
  await user.page.getByText(email).first().waitFor();
});

/** Opens the sign-up form of a registration link in a browser of its own, and signs up. */
async function signUpWith(t: TestContext, link: string): Promise<AppPage> {
  const { pathname, hash } = new URL(link);
  const user = await fixture.openPage(t, { origin: invited.app.url });
  await user.page.goto(pathname + hash);
  await user.field("Email").fill(newEmail());
  await user.field("Password").fill(password);
  await user.page.getByRole("button", { name: "Sign Up", exact: true }).click();
  return user;
}

test("a user signs up with a registration link, the use is counted, and the link is revoked", async (t) => {
  const appPage = await openOperator(t, { origin: invitedOrigin });
  const { page } = appPage;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await openSection(appPage, "/registration-links");
  await page.getByText("There are no registration links yet.").waitFor();
  await appPage.button("Create link").click();
  const create = appPage.sheet.getByRole("button", { name: "Create link" });
  await appPage.field("Note").fill("Team A");
  await appPage.field("Sign-ups").fill("3");
  await appPage.field("Valid for").selectOption("30 days");
  await appPage.field("Email domain").fill("team@example.com");
  await create.click();
  await appPage.sheet.getByText("team@example.com is not a domain such as example.com").waitFor();
  await appPage.field("Email domain").fill("example.com");
  await create.click();
  const link = await appPage.field("Registration link").inputValue();
  await appPage.button("Copy link").click();
  await appPage.button("Copied").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), link);
  await appPage.button("Done").click();
  await eventually(async () => assert.equal(await focusedName(appPage), "Create link"));

  const row = page.getByRole("listitem").filter({ hasText: "Team A" });
  await row.getByText(/^0 of 3 sign-ups · Addresses of example\.com · Valid until /u).waitFor();
  assert.ok(!(await page.content()).includes(new URL(link).hash.slice(1)), "the link is shown once");
  await (await signUpWith(t, link)).composer.waitFor();
  await page.reload();
  await row.getByText(/^1 of 3 sign-ups · /u).waitFor();
  await row.getByText("Valid", { exact: true }).waitFor();

  await appPage.button("Revoke Team A").click();
  await appPage.button("Revoke").click();
  await appPage.toast("Link revoked", "Team A");
  await row.getByText("Revoked", { exact: true }).waitFor();
  assert.equal(await row.getByRole("button").count(), 0);
  const late = await signUpWith(t, link);
  await late.toast("Sign up failed", /^This invitation link isn.t valid\./u);
});

test("where registration links have no effect, the page says so and creates none", async (t) => {
  const appPage = await openOperator(t);
  await openSection(appPage, "/registration-links");
  await appPage.page
    .getByText("Registration links have no effect: CHAT_SIGNUPS is open. They need CHAT_SIGNUPS=invite.")
    .waitFor();
  assert.ok(await appPage.button("Create link").isDisabled());
});

test("the second factors of a user are named by their kind", async (t) => {
  const account = await Account.create(fixture.app.url);
  for (const [factor_type, friendly_name] of [
    ["totp", "Phone"],
    ["webauthn", "Blue key"],
  ])
    await account.call("/auth/v1/factors", { factor_type, friendly_name });
  const appPage = await openOperator(t);
  await openSection(appPage, `/users/${account.session.user.id}`);
  const factors = region(appPage.page, "Second factors and passkeys").getByRole("listitem");
  const factor = (name: string) => factors.filter({ hasText: name });
  await factor("Phone")
    .getByText(/^Authenticator app · /u)
    .waitFor();
  await factor("Blue key")
    .getByText(/^Security key · /u)
    .waitFor();
  await appPage.button("Delete Blue key").click();
  await appPage.button("Delete").click();
  await appPage.page.getByText("Blue key deleted").waitFor();
  assert.equal(await factors.count(), 1);
});

test("a quota is set, kept and given back to the settings", async (t) => {
  const { id } = (await Account.create(fixture.app.url)).session.user;
  const appPage = await openOperator(t);
  const { page } = appPage;
  await openSection(appPage, `/users/${id}`);
  const quotas = region(page, "Quotas");
  const tokens = quotas.getByLabel("Tokens per day", { exact: true });
  assert.equal(await tokens.inputValue(), "default");
  await tokens.selectOption("Own limit");
  await quotas.getByLabel("Limit: Tokens per day").fill("1200");
  await quotas.getByLabel("Cost per month (US$)", { exact: true }).selectOption("Own limit");
  await quotas.getByLabel("Limit: Cost per month (US$)").fill("2.5");
  await appPage.button("Save quotas").click();
  await page.getByText("Quotas saved").waitFor();
  await page.reload();
  assert.equal(await quotas.getByLabel("Limit: Tokens per day").inputValue(), "1200");
  assert.equal(await quotas.getByLabel("Limit: Cost per month (US$)").inputValue(), "2.5");
  await tokens.selectOption("Settings: 50,000");
  await appPage.button("Save quotas").click();
  await eventually(async () => {
    const stored = (await callOperator(`/users/${id}/quotas`)) as { quotas: { exception: unknown }[] };
    assert.deepEqual(
      stored.quotas.map(({ exception }) => exception),
      [null, null, null, { limit: 2.5 }, null, null, null],
    );
  });
});

test("a user is deleted only after their address was typed", async (t) => {
  const account = await Account.create(fixture.app.url);
  const { id } = account.session.user;
  const appPage = await openOperator(t);
  await openSection(appPage, `/users/${id}`);
  await appPage.button("Delete user").click();
  const confirmation = appPage.field(`Type ${account.email} to confirm`);
  await confirmation.fill("yes");
  await appPage.sheet.getByRole("button", { name: "Delete user" }).click();
  await appPage.sheet.getByText("this is not the email address of the account").waitFor();
  await confirmation.fill(account.email);
  await appPage.sheet.getByRole("button", { name: "Delete user" }).click();
  await heading(appPage.page, "Users").waitFor();
  await assert.rejects(callOperator(`/users/${id}`), /404/u);
});

test("a shared server is offered without showing its key again, and withdrawn", async (t) => {
  const appPage = await openOperator(t, { origin: invitedOrigin });
  const { page } = appPage;
  await openSection(appPage, "/shared-servers");
  await page.getByText("No server is offered.").waitFor();
  await appPage.button("Offer server").click();
  await appPage.field("Name").fill("Tickets");
  await appPage.field("URL").fill("https://tickets.example.com/mcp?key=s3cret");
  await appPage.field("HTTP headers").fill("no colon");
  await appPage.button("Offer").click();
  await page.getByText("Each line needs a name and a colon.").waitFor();
  await appPage.field("HTTP headers").fill("Authorization: Bearer s3cret");
  await appPage.field("Email domains").fill("example.com, example.org");
  await appPage.button("Offer").click();
  await page.getByText("For example.com and example.org").waitFor();
  assert.doesNotMatch(await page.content(), /s3cret/u);
  await appPage.button("Withdraw Tickets").click();
  await appPage.button("Withdraw").click();
  await page.getByText("No server is offered.").waitFor();
});

test("no server is offered to a domain where users need not prove their address", async (t) => {
  const appPage = await openOperator(t);
  const { page } = appPage;
  await openSection(appPage, "/shared-servers");
  await appPage.button("Offer server").click();
  await appPage.field("Name").fill("Tickets");
  await appPage.field("URL").fill("https://tickets.example.com/mcp");
  await appPage.field("Email domains").fill("example.com");
  await appPage.button("Offer").click();
  await page.getByText("domains need proven addresses").waitFor();
  await appPage.field("Email domains").fill("");
  await appPage.button("Offer").click();
  await page.getByText("For all users").waitFor();
  await appPage.button("Withdraw Tickets").click();
  await appPage.button("Withdraw").click();
  await page.getByText("No server is offered.").waitFor();
});

test("the system section examines the server, makes a backup, and says why no email was sent", async (t) => {
  const appPage = await openOperator(t);
  const { page } = appPage;
  await openSection(appPage, "/system");
  await region(page, "Sign-up policy").getByText("Anyone", { exact: true }).waitFor();
  await appPage.button("Examine").click();
  await region(page, "Diagnostics").getByText("stored secrets").waitFor();
  await appPage.field("Recipient").fill("operator@example.com");
  await appPage.button("Send test email").click();
  await page.getByText("Emails are disabled: no mail server is configured").waitFor();
  const backups = region(page, "Backups").getByRole("listitem");
  // The first scheduled backup is made at the start.
  await eventually(async () => {
    await page.reload();
    await backups.first().waitFor();
  });
  await appPage.button("Back up now").click();
  await page.getByText("Backup complete").waitFor();
  assert.equal(await backups.count(), 2);
});

test("the operator's page speaks German", async (t) => {
  const appPage = await openOperator(t, { locale: "de-DE" });
  await openSection(appPage, "/system");
  await heading(appPage.page, "System").waitFor();
  await region(appPage.page, "Registrierung").getByText("Jeder").waitFor();
  assert.doesNotMatch(await appPage.page.locator("body").innerText(), /operator\./u, "no key is shown");
});

for (const [name, look] of looks) {
  test(`the operator's page is free of accessibility faults at ${name}, and fits`, async (t) => {
    const account = await accountWithUsage();
    const { id } = account.session.user;
    const offer = { name: "Tickets", url: "https://tickets.example.com/mcp", description: "All tickets." };
    await callOperator("/shared-servers", "POST", { ...offer, headers: { "X-Key": "1" } });
    const appPage = await openOperator(t, look);
    const { page } = appPage;
    await appPage.open();
    await appPage.field("Token").waitFor();
    await inspect(appPage, "operator-sign-in", look);
    await signIn(appPage);
    await page.getByRole("link", { name: account.email }).waitFor();
    await inspect(appPage, "operator-users", look);
    await appPage.button("Invite user").click();
    await inspect(appPage, "operator-invite", look);
    await page.keyboard.press("Escape");
    await openSection(appPage, `/users/${id}`);
    await heading(page, account.email).waitFor();
    await region(page, "Quotas").getByLabel("Tokens per day", { exact: true }).selectOption("Own limit");
    await inspect(appPage, "operator-user", look);
    for (const [link, ready] of [
      ["Usage", "openai/scripted"],
      ["Audit log", "Signed in"],
      ["Shared servers", "All tickets."],
    ] as const) {
      await page.getByRole("link", { name: link, exact: true }).click();
      await page.getByRole("listitem").getByText(ready).first().waitFor();
      await inspect(appPage, `operator-${link.toLowerCase().replace(" ", "-")}`, look);
    }
    await page.getByRole("link", { name: "System", exact: true }).click();
    await appPage.button("Examine").click();
    await region(page, "Diagnostics").getByText("stored secrets").waitFor();
    await inspect(appPage, "operator-system", look);
  });
}

for (const [name, look] of looks) {
  test(`the registration links are free of accessibility faults at ${name}, and fit`, async (t) => {
    const create = (body: object) =>
      callOperator("/registration-tokens", "POST", body, invitedOrigin) as Promise<{
        id: string;
        link: string;
      }>;
    const usedUp = await create({ note: "For Ann" });
    await (await signUpWith(t, usedUp.link)).composer.waitFor();
    const revoked = await create({ note: "Workshop in November", maxUses: 25 });
    await callOperator(`/registration-tokens/${revoked.id}`, "DELETE", undefined, invitedOrigin);
    await create({ maxUses: 1_200, domain: "department.university.example" });
    await create({ note: "N".repeat(200), maxUses: 5 });
    const appPage = await openOperator(t, { ...look, origin: invitedOrigin });
    const { page } = appPage;
    await openSection(appPage, "/registration-links");
    await page.getByText("Workshop in November").first().waitFor();
    await inspect(appPage, "operator-registration-links", look);
    await appPage.button("Revoke Registration link").first().click();
    await appPage.button("Revoke").waitFor();
    await inspect(appPage, "operator-registration-link-revoke", look);
    await page.keyboard.press("Escape");
    await appPage.button("Create link").click();
    await inspect(appPage, "operator-registration-link-form", look);
    await appPage.sheet.getByRole("button", { name: "Create link" }).click();
    await appPage.field("Registration link").waitFor();
    await inspect(appPage, "operator-registration-link", look);
  });

  test(`the registration links say at ${name} that they have no effect`, async (t) => {
    const appPage = await openOperator(t, { ...look, locale: "de-DE" });
    await openSection(appPage, "/registration-links");
    await appPage.page.getByText("Registrierungslinks sind wirkungslos", { exact: false }).waitFor();
    await inspect(appPage, "operator-registration-links-no-effect", look);
  });
}

/** Returns an account that has called a model. */
async function accountWithUsage(): Promise<Account> {
  const account = await (await Account.create(fixture.app.url)).again();
  await account.say(await account.newChat(), "Hello");
  return account;
}
