import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startFixture } from "./fixture.ts";
import { Mailbox } from "./mailbox.ts";
import { Settings } from "./settings.ts";
import { VirtualAuthenticator } from "./virtual-authenticator.ts";

const serviceRoleKey = "the service role key of these tests";

const mailbox = await Mailbox.open();
after(() => mailbox.close());
const fixture = await startFixture({
  ...mailbox.env,
  CHAT_AUTOCONFIRM: "on",
  CHAT_SECURITY_EMAILS: "on",
  CHAT_SERVICE_ROLE_KEY: serviceRoleKey,
});

/** Calls the admin part of the auth API. */
async function administer(path: string, method = "GET"): Promise<unknown> {
  const response = await fetch(`${fixture.app.url}/auth/v1/admin/users/${path}`, {
    method,
    headers: { authorization: `Bearer ${serviceRoleKey}` },
  });
  assert.ok(response.ok, `${path}: ${response.status}`);
  return response.status === 204 ? undefined : response.json();
}

test("a passkey and a security key are told when they are added or removed, by their user or the operator", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const subject = async () => (await mailbox.next(account.email)).subject;
  const device = await VirtualAuthenticator.addTo(appPage, "device");
  await appPage.open();
  const settings = await Settings.open(appPage, "Security");
  const passkeys = settings.section("Passkeys");
  await passkeys.getByRole("button", { name: "Create", exact: true }).click();
  assert.equal(await subject(), "A passkey was created");
  await passkeys.getByRole("button", { name: "Remove Chrome, Linux" }).click();
  await appPage.button("Remove").click();
  assert.equal(await subject(), "A passkey was removed");
  await passkeys.getByText("Chrome, Linux", { exact: true }).waitFor({ state: "detached" });
  await device.forgetAll();
  await passkeys.getByRole("button", { name: "Create", exact: true }).click();
  assert.equal(await subject(), "A passkey was created");
  await device.remove();

  await VirtualAuthenticator.addTo(appPage, "security key");
  await settings.change("Security key");
  await settings.field("Security key name").fill("Blue key");
  await settings.button("Continue").click();
  const told = new Set([await subject(), await subject()]);
  assert.deepEqual(told, new Set(["A security key was added", "Recovery codes were created"]));
  await settings.button("I have saved them").click();
  await settings.button("Remove Blue key").click();
  await settings.confirm(/^Remove Blue key\?/u, "Remove");
  assert.equal(await subject(), "A security key was removed");

  await settings.row("Blue key").waitFor({ state: "detached" });
  await settings.change("Security key");
  await settings.field("Security key name").fill("Red key");
  await settings.button("Continue").click();
  assert.deepEqual(new Set([await subject(), await subject()]), told);

  const { id } = account.session.user;
  for (const [kind, notice] of [
    ["passkeys", "A passkey was removed"],
    ["factors", "A security key was removed"],
  ]) {
    const [credential] = (await administer(`${id}/${kind}`)) as { id: string }[];
    await administer(`${id}/${kind}/${credential?.id}`, "DELETE");
    const mail = await mailbox.next(account.email);
    assert.equal(mail.subject, notice);
    assert.equal(mail.link, `${fixture.app.url}/?settings=security`);
  }
  assert.deepEqual(mailbox.unread(account.email), []);
});
