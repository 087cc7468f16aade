import assert from "node:assert/strict";
import { test } from "node:test";
import { focusedName, inspect, looks } from "./look.ts";
import { startFixture } from "./fixture.ts";
import { eventually } from "./app-page.ts";

const fixture = await startFixture();

for (const [name, look] of looks) {
  test(`the open chat is shared, renamed and exported from its head at ${name}`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, look);
    await account.fill(await account.newChat("Trip"), ["Where to?", "To **Lisbon**."]);
    await appPage.open();
    await appPage.answers.first().waitFor();
    const menu = appPage.page.getByRole("dialog", { name: "More for this chat" });
    const open = async (action: string) => {
      await appPage.button("More for this chat").click();
      await menu.getByRole("button", { name: action }).click();
    };
    await appPage.button("More for this chat").click();
    await menu.getByRole("button", { name: "Rename" }).waitFor();
    await inspect(appPage, "chat-menu", look);
    await appPage.page.keyboard.press("Escape");
    await eventually(async () => assert.equal(await focusedName(appPage), "More for this chat"));

    await open("Rename");
    await appPage.field("Chat title").fill("Lisbon");
    await inspect(appPage, "chat-rename", look);
    await appPage.page.keyboard.press("Enter");
    await appPage.page.getByRole("region", { name: "Lisbon", exact: true }).waitFor();

    await open("Share");
    await appPage.button("Create link").click();
    await appPage.field("Link to the chat").waitFor();
    await inspect(appPage, "chat-share", look);
    await appPage.page.keyboard.press("Escape");

    const download = appPage.page.waitForEvent("download");
    await open("Download as Markdown");
    assert.match((await download).suggestedFilename(), /\.md$/u);
  });
}

test("a wide head has a button of its own to share, and a temporary chat has neither", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.newChat("Trip");
  await appPage.open();
  await appPage.button("Share this chat").click();
  await appPage.button("Create link").waitFor();
  await appPage.page.keyboard.press("Escape");
  await appPage.openChats();
  await appPage.button("New temporary chat").click();
  await appPage.page.getByRole("region", { name: "Temporary chat", exact: true }).waitFor();
  assert.equal(await appPage.button("Share this chat").count(), 0);
  assert.equal(await appPage.button("More for this chat").count(), 0);
});

test("the open chat is archived and deleted from its head, and the keyboard stays there", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  for (const title of ["Third", "Second", "First"]) await account.newChat(title);
  await appPage.open();
  const menu = appPage.page.getByRole("dialog", { name: "More for this chat" });
  for (const [action, title, next] of [
    ["Archive", "First", "Second"],
    ["Delete", "Second", "Third"],
  ] as const) {
    await appPage.page.getByRole("region", { name: title, exact: true }).waitFor();
    await appPage.button("More for this chat").click();
    await menu.getByRole("button", { name: action, exact: true }).focus();
    await appPage.page.keyboard.press("Enter");
    await appPage.page.getByRole("region", { name: next, exact: true }).waitFor();
    await eventually(async () => assert.equal(await focusedName(appPage), "More for this chat"));
  }
  await appPage.button("More for this chat").click();
  await menu.getByRole("button", { name: "Rename" }).waitFor();
  assert.equal(await menu.getByRole("button", { name: "Delete", exact: true }).count(), 0);
});
