import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startApp } from "./app.ts";
import { freePort } from "./free-port.ts";
import { Mailbox } from "./mailbox.ts";

const token = "the token of an operator who manages";
const adminPort = await freePort();
const mailbox = await Mailbox.open();
const app = await startApp({
  env: { ...mailbox.env, CHAT_ADMIN_LISTEN: `127.0.0.1:${adminPort}`, CHAT_ADMIN_TOKEN: token },
});
after(async () => {
  await app.stop();
  await mailbox.close();
});

function call(path: string, body: object): Promise<Response> {
  return fetch(`http://127.0.0.1:${adminPort}/admin/api${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

test("a test email arrives, and a mail server that is down is named as the reason", async () => {
  const to = `${crypto.randomUUID()}@example.com`;
  assert.equal((await call("/test-email", { to })).status, 204);
  const mail = await mailbox.next(to);
  assert.equal(mail.subject, "Test email");
  assert.match(mail.text, /The mail settings of AI Chat MCP work/u);
  assert.doesNotMatch(mail.text, /https?:/u);

  await mailbox.goDown();
  const response = await call("/test-email", { to });
  assert.equal(response.status, 502);
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  assert.equal(error.code, "email_not_sent");
  assert.match(error.message, /^the mail server /u);
  await mailbox.comeBack();
});

test("an invitation by email arrives, and its account is invited", async () => {
  const email = `${crypto.randomUUID()}@example.com`;
  const response = await call("/users/invitations", { email, way: "email" });
  assert.equal(response.status, 200);
  assert.equal(((await response.json()) as { link: string | null }).link, null);
  const mail = await mailbox.next(email);
  assert.equal(mail.subject, "You have been invited");
  const opened = await fetch(mail.link, { redirect: "manual" });
  assert.match(opened.headers.get("location") ?? "", /access_token=/u);
});
