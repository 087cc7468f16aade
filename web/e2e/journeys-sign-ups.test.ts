import { AuthClient } from "@supabase/auth-js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { Account } from "./account.ts";
import type { AppPage } from "./app-page.ts";
import { startFixture } from "./fixture.ts";
import { closeToasts, inspect, looks } from "./look.ts";

const key = "a service role key that nobody guesses";
const fixture = await startFixture({ CHAT_SIGNUPS: "invite", CHAT_SERVICE_ROLE_KEY: key });

for (const [name, look] of looks) {
  test(`without open sign-up, the page offers only to sign in, at ${name}`, async (t) => {
    const appPage = await fixture.openPage(t, look);
    await appPage.page.goto("/auth");
    await appPage.page.getByText("New accounts are by invitation.", { exact: false }).waitFor();
    assert.equal(await appPage.page.getByRole("tab").count(), 0);
    await inspect(appPage, "auth-invite-only", look);
  });
}

test("an account that the operator has created signs in", async (t) => {
  const email = `${crypto.randomUUID()}@example.com`;
  const password = "correct horse";
  const created = await fetch(`${fixture.app.url}/auth/v1/admin/users`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ email, password, email_confirm: true }),
  });
  assert.equal(created.status, 200);
  await assert.rejects(Account.create(fixture.app.url), "nobody signs up");
  const appPage = await fixture.openPage(t);
  await appPage.page.goto("/auth");
  await appPage.field("Email").fill(email);
  await appPage.field("Password").fill(password);
  await appPage.page.keyboard.press("Enter");
  await appPage.composer.waitFor();
});

const tokens = (...args: string[]) => fixture.app.command("admin", "registration-token", ...args);

/** Creates a registration token, and returns the path of its link. */
async function registrationLink(...args: string[]): Promise<string> {
  const { link } = JSON.parse(await tokens("create", "--json", ...args)) as { link: string };
  const { pathname, hash } = new URL(link);
  assert.equal(pathname, "/auth");
  return pathname + hash;
}

async function signUp(appPage: AppPage, email: string): Promise<void> {
  await appPage.field("Email").fill(email);
  await appPage.field("Password").fill("correct horse");
  await appPage.page.getByRole("button", { name: "Sign Up", exact: true }).click();
}

for (const [name, look] of looks) {
  test(`the link of a registration token opens the sign-up form, at ${name}`, async (t) => {
    const appPage = await fixture.openPage(t, look);
    await appPage.page.goto(await registrationLink());
    await appPage.page.getByText("You have been invited to sign up.").waitFor();
    assert.equal(await appPage.page.getByRole("tab").count(), 0);
    await inspect(appPage, "auth-register", look);
    await signUp(appPage, `${crypto.randomUUID()}@example.com`);
    await appPage.composer.waitFor();
    assert.equal(new URL(appPage.page.url()).hash, "", "the token is not left in the address");
  });
}

test("a link that is used up says so, and leads to the sign-in", async (t) => {
  const link = await registrationLink("--domain", "example.com");
  const first = await fixture.openPage(t);
  await first.page.goto(link);
  const email = `${crypto.randomUUID()}@example.com`;
  await signUp(first, `${crypto.randomUUID()}@elsewhere.example`);
  await first.toast("Sign up failed", /^Email addresses at this domain can.t be used here\./u);
  await closeToasts(first);
  await signUp(first, email);
  await first.composer.waitFor();

  const second = await fixture.openPage(t);
  await second.page.goto("/auth");
  await second.page.getByText("New accounts are by invitation.", { exact: false }).waitFor();
  // In the same tab, which only changes the fragment.
  await second.page.goto(link);
  await second.page.getByText("You have been invited to sign up.").waitFor();
  await signUp(second, `${crypto.randomUUID()}@example.com`);
  await second.toast(
    "Sign up failed",
    "This invitation link was used as often as it can be. Ask for a new one.",
  );
  await closeToasts(second);
  await second.page.getByRole("button", { name: "I already have an account" }).click();
  await second.field("Email").fill(email);
  await second.field("Password").fill("correct horse");
  await second.page.getByRole("button", { name: "Sign In", exact: true }).click();
  await second.composer.waitFor();
});

test("a link with a wrong token says so", async (t) => {
  const appPage = await fixture.openPage(t);
  await appPage.page.goto(`${await registrationLink()}x`);
  await signUp(appPage, `${crypto.randomUUID()}@example.com`);
  await appPage.toast("Sign up failed", /^This invitation link isn.t valid\./u);
});

test("the official client signs up with a token, which is not stored", async () => {
  const link = await registrationLink();
  const token = new URLSearchParams(link.split("#")[1]).get("registration_token");
  const client = new AuthClient({
    url: `${fixture.app.url}/auth/v1`,
    persistSession: false,
    autoRefreshToken: false,
  });
  const email = `${crypto.randomUUID()}@example.com`;
  const { data, error } = await client.signUp({
    email,
    password: "correct horse",
    options: { data: { name: "Ann", registration_token: token } },
  });
  assert.equal(error, null);
  assert.equal(data.user?.user_metadata["name"], "Ann");
  assert.ok(!("registration_token" in (data.user?.user_metadata ?? {})));
});
