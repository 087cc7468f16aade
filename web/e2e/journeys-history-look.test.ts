import { test, type TestContext } from "node:test";
import { closeToasts, holdToast, inspect, looks } from "./look.ts";
import { openStage } from "./stage.ts";

const stage = await openStage();

for (const [name, look] of looks) {
  test(`what is done with chats is free of accessibility faults at ${name}, and fits`, (t) =>
    screens(t, look));
}

async function screens(t: TestContext, look: (typeof looks)[number][1]): Promise<void> {
  const { account, visitor } = await stage.member(t, look);
  const chat = await account.newChat("Which of my notes mention the Lisbon trip, and where are they?");
  await account.fill(chat, [
    "Which of my notes mention the Lisbon trip?",
    "Three notes mention **Lisbon**:\n\n| Note | Changed |\n|---|---|\n| `trips/lisbon.md` | 12 Nov |",
  ]);
  await account.newChat("Plan the sprint review");
  const archived = await account.newChat("Put away");
  await account.call(`/api/sessions/${archived}/marks`, { archived: true }, {}, "PUT");
  await account.call(`/api/sessions/${chat}/marks`, { pinned: true }, {}, "PUT");
  await visitor.open();
  await visitor.button("Chats (2)").waitFor();
  const dropdown = await visitor.openChats();
  await inspect(visitor, "history-menu", look);
  await dropdown.getByRole("button", { name: /^More for Which/u }).click();
  await inspect(visitor, "history-more", look);
  await visitor.menuItem("Rename").click();
  await inspect(visitor, "history-rename", look);
  await dropdown.getByRole("button", { name: "Cancel", exact: true }).click();
  await dropdown.getByRole("button", { name: /^More for Which/u }).click();
  await visitor.menuItem("Share").click();
  await inspect(visitor, "history-share", look);
  await visitor.button("Create link").click();
  await visitor.field("Link to the chat").waitFor();
  const link = await visitor.field("Link to the chat").inputValue();
  await inspect(visitor, "history-link", look);
  await dropdown.getByRole("searchbox").fill("lisbon");
  await dropdown.getByRole("region", { name: "Messages" }).waitFor();
  await inspect(visitor, "history-search", look);
  await dropdown.getByRole("button", { name: /Three notes/u }).click();
  await visitor.page.locator("[data-found]").waitFor();
  await inspect(visitor, "history-found", look);
  await visitor.openChats();
  await dropdown.getByRole("button", { name: "Delete Plan the sprint review", exact: true }).click();
  await holdToast(visitor);
  await visitor.page.keyboard.press("Escape");
  await inspect(visitor, "history-undo", look);
  await closeToasts(visitor);
  await visitor.button("Settings").click();
  await visitor.page.getByRole("heading", { name: "Shared chats" }).scrollIntoViewIfNeeded();
  await visitor.button(/^Stop sharing Which/u).waitFor();
  await inspect(visitor, "history-settings", look);
  await visitor.open(new URL(link).search);
  await visitor.page.getByRole("article", { name: "Answered" }).getByRole("table").waitFor();
  await inspect(visitor, "history-shared", look);
  await visitor.open("/?share=gone");
  await visitor.sees("This chat is no longer shared");
  await inspect(visitor, "history-gone", look);
}
