import assert from "node:assert/strict";
import { test } from "node:test";
import { closeToasts } from "./look.ts";
import { say } from "./scripted-model.ts";
import { Settings } from "./settings.ts";
import { startFixture } from "./fixture.ts";

const fixture = await startFixture();

/** Asks with a key, as a program would. */
function ask(key: string): Promise<Response> {
  return fetch(`${fixture.app.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "default", messages: [{ role: "user", content: "Hello?" }] }),
  });
}

test("a key is made in the settings, shown once, and ended", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  const settings = await Settings.open(appPage, "API keys");
  await settings.section("API keys").getByText(`${fixture.app.url}/v1`).waitFor();
  await settings.change("API key");
  await settings.field("Key name").fill("Editor");
  await settings.panel.getByLabel(/^Can use my tools/u).check();
  await settings.button("Create key").click();
  const secret = await settings.panel.locator("code").innerText();
  assert.match(secret, /^sk-chat-/u);
  await settings.row("Editor").getByText("With tools").waitFor();
  await settings.button("Done").click();
  await appPage.page.reload();
  await settings
    .row("Editor")
    .getByText(/never used/u)
    .waitFor();
  assert.equal((await settings.panel.innerText()).includes(secret), false, "it is shown once");

  fixture.model.answer(say("Here I am."));
  const answer = (await (await ask(secret)).json()) as { choices: { message: { content: string } }[] };
  assert.equal(answer.choices[0]?.message.content, "Here I am.");
  await appPage.page.reload();
  await settings
    .row("Editor")
    .getByText(/^Last used/u)
    .waitFor();

  await settings.button("Revoke Editor").click();
  await settings.confirm(/^Revoke Editor\?/u, "Revoke key");
  await closeToasts(appPage);
  await settings.row("Editor").waitFor({ state: "detached" });
  assert.equal((await ask(secret)).status, 401);
});
