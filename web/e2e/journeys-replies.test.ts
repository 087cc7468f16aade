import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { AppPage } from "./app-page.ts";
import { startFixture } from "./fixture.ts";
import { inspect, looks } from "./look.ts";
import { say } from "./scripted-model.ts";

// Only the built-in model asks such questions; its answer is stored as it would be.
const fixture = await startFixture();
const options = ["search_files", "google_drive_list_files", "No tool"];
const question = `Which of these tools should I use?

1. \`search_files\` (files): Searches for files by a pattern.
2. \`google_drive_list_files\` (Drive): Lists files in Google Drive.`;

/** Writes the parts of every question in the database. */
function offerReplies(): void {
  const database = new DatabaseSync(`${fixture.app.dataDir}/test.db`, { timeout: 5_000 });
  const parts = [
    { type: "text", text: question },
    { type: "reply-options", options },
  ];
  database
    .prepare("UPDATE ai_chat_messages SET parts = ?, status = 'done' WHERE content = ?")
    .run(JSON.stringify(parts), question);
  database.close();
}

const replies = ({ page }: AppPage) => page.getByRole("group", { name: "Suggested replies" });

for (const [name, look] of looks) {
  test(`replies are offered below the newest answer, at ${name}`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, look);
    await account.fill(await account.newChat("Invoice"), ["Where is my invoice?", question]);
    offerReplies();
    await appPage.open();
    await replies(appPage).waitFor();
    await inspect(appPage, "replies", look);
  });
}

test("a reply is sent by keyboard, and is offered no more", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const { page } = appPage;
  await account.connect("my-tools", `${fixture.app.url}/mcp/toolbox`);
  await account.fill(await account.newChat("Invoice"), ["Where is my invoice?", question]);
  offerReplies();
  fixture.model.answer(say("It is in the folder of October."));
  await appPage.open();
  await replies(appPage).getByRole("button", { name: "search_files" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("It is in the folder of October.").waitFor();
  await page.locator("[data-role=user]").getByText("search_files", { exact: true }).waitFor();
  assert.equal(await replies(appPage).count(), 0);
  assert.ok(
    await page.evaluate(() => document.activeElement !== document.body),
    "the keyboard keeps its place",
  );
  await page.reload();
  await page.getByText("It is in the folder of October.").waitFor();
  assert.equal(await replies(appPage).count(), 0);
});
