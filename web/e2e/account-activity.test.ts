import assert from "node:assert/strict";
import { test } from "node:test";
import { startFixture } from "./fixture.ts";
import { Settings } from "./settings.ts";

const fixture = await startFixture();

test("the settings show what happened to the account, the newest first, and no other's", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const stranger = await fixture.openPage(t);
  await stranger.open("/auth");
  await stranger.signIn(account.email, "not the password");
  await stranger.toast("Sign in failed", "Invalid login credentials");
  await appPage.open();
  const settings = await Settings.open(appPage, "Security");
  const activity = settings.section("Recent activity");
  await activity.getByText("Failed sign-in", { exact: true }).waitFor();
  const names = await activity.getByRole("listitem").locator("p:first-child").allTextContents();
  assert.deepEqual(names, ["Failed sign-in", "Signed in", "Account created"]);
  const failed = activity.getByRole("listitem").first();
  await failed.getByText(/ · Chrome, Linux · (127\.0\.0\.1|::1)$/u).waitFor();

  const other = await fixture.openSignedInPage(t);
  await other.appPage.open();
  const others = await Settings.open(other.appPage, "Security");
  await others.section("Recent activity").getByText("Signed in", { exact: true }).waitFor();
  assert.equal(await others.section("Recent activity").getByText("Failed sign-in").count(), 0);
});
