import assert from "node:assert/strict";
import { test } from "node:test";
import { Account } from "./account.ts";
import { startFixture } from "./fixture.ts";
import { inspect, looks } from "./look.ts";

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
