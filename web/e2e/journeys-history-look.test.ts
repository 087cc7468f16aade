import { test, type TestContext } from "node:test";
import { closeToasts, holdToast, inspect, looks } from "./look.ts";
import { Settings } from "./settings.ts";
import { startFixture } from "./fixture.ts";

const fixture = await startFixture();

for (const [name, look] of looks) {
  test(`what is done with chats is free of accessibility faults at ${name}, and fits`, (t) =>
    screens(t, look));
}

async function screens(t: TestContext, look: (typeof looks)[number][1]): Promise<void> {
  const { account, appPage } = await fixture.openSignedInPage(t, look);
  const chat = await account.newChat("Which of my notes mention the Lisbon trip, and where are they?");
  await account.fill(chat, [
    "Which of my notes mention the Lisbon trip?",
    "Three notes mention **Lisbon**:\n\n| Note | Changed |\n|---|---|\n| `trips/lisbon.md` | 12 Nov |",
  ]);
  await account.newChat("Plan the sprint review");
  const archived = await account.newChat("Put away");
  await account.call(`/api/sessions/${archived}/marks`, { archived: true }, {}, "PUT");
  await account.call(`/api/sessions/${chat}/marks`, { pinned: true }, {}, "PUT");
  await appPage.open();
  await appPage.button("Chats (2)").waitFor();
  const dropdown = await appPage.openChats();
  await inspect(appPage, "history-menu", look);
  await dropdown.getByRole("button", { name: /^More for Which/u }).click();
  await inspect(appPage, "history-more", look);
  await appPage.menuItem("Rename").click();
  await inspect(appPage, "history-rename", look);
  await dropdown.getByRole("button", { name: "Cancel", exact: true }).click();
  await dropdown.getByRole("button", { name: /^More for Which/u }).click();
  await appPage.menuItem("Share").click();
  await inspect(appPage, "history-share", look);
  await appPage.button("Create link").click();
  await appPage.field("Link to the chat").waitFor();
  const link = await appPage.field("Link to the chat").inputValue();
  await inspect(appPage, "history-link", look);
  await dropdown.getByRole("searchbox").fill("lisbon");
  await dropdown.getByRole("group", { name: "Messages" }).waitFor();
  await inspect(appPage, "history-search", look);
  await dropdown.getByRole("button", { name: /Three notes/u }).click();
  await appPage.page.locator("[data-found]").waitFor();
  await inspect(appPage, "history-found", look);
  await appPage.openChats();
  await dropdown.getByRole("button", { name: "Delete Plan the sprint review", exact: true }).click();
  await holdToast(appPage);
  await appPage.page.keyboard.press("Escape");
  await inspect(appPage, "history-undo", look);
  await closeToasts(appPage);
  await Settings.open(appPage, "Data");
  await appPage.button(/^Stop sharing Which/u).waitFor();
  await inspect(appPage, "history-settings", look);
  await appPage.open(new URL(link).search);
  await appPage.page.getByRole("article", { name: "Answered" }).getByRole("table").waitFor();
  await inspect(appPage, "history-shared", look);
  await appPage.open("/?share=gone");
  await appPage.sees("This chat is no longer shared");
  await inspect(appPage, "history-gone", look);
}
