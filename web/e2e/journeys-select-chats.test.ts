import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { focusedName, inspect, looks } from "./look.ts";
import { startFixture } from "./fixture.ts";
import { eventually } from "./app-page.ts";

const fixture = await startFixture();
const titles = ["Fifth", "Fourth", "Third", "Second", "First"];

async function openChats(t: TestContext, options: object) {
  const { account, appPage } = await fixture.openSignedInPage(t, options);
  for (const title of titles) await account.newChat(title);
  await appPage.open();
  await appPage.button("Chats (5)").waitFor();
  const stored = async () =>
    (
      await account.call<{ title: string }[]>("/rest/v1/ai_chat_sessions?select=title&order=created_at.desc")
    ).map(({ title }) => title);
  return { account, appPage, stored };
}

for (const [name, look] of looks) {
  test(`several chats are selected, deleted at once, and come back with Undo at ${name}`, async (t) => {
    const { appPage, stored } = await openChats(t, look);
    const { page } = appPage;
    const chats =
      look.viewport.width >= 1200
        ? page.getByRole("complementary", { name: "Chats" })
        : await appPage.openChats();
    const row = (title: string) => chats.getByRole("checkbox", { name: title });
    await chats.getByRole("button", { name: "Select chats" }).click();
    await row("Second").click();
    await row("Fourth").click({ modifiers: ["Shift"] });
    await chats.getByText("3 selected").waitFor();
    await inspect(appPage, "select-chats", look);
    await chats.getByRole("button", { name: "Delete", exact: true }).click();
    await chats.getByText("Delete 3 chats?").waitFor();
    await inspect(appPage, "select-chats-question", look);
    await chats.getByRole("button", { name: "Delete", exact: true }).click();
    await appPage.button("Chats (2)").waitFor();
    assert.deepEqual(await stored(), ["First", "Fifth"]);
    await appPage.button("Undo").click();
    await appPage.button("Chats (5)").waitFor();
    assert.deepEqual(await stored(), titles.toReversed());
  });
}

test("the dropdown selects and archives chats with the keyboard alone, from a chat's menu on", async (t) => {
  const { appPage } = await openChats(t, { viewport: { width: 1000, height: 800 } });
  const { keyboard } = appPage.page;
  const dropdown = await appPage.openChats();
  await dropdown.getByRole("button", { name: "More for Second", exact: true }).focus();
  await keyboard.press("Enter");
  await appPage.menuItem("Select").focus();
  await keyboard.press("Enter");
  await eventually(async () => assert.match(await focusedName(appPage), /^Second/u));
  await keyboard.press("Shift+ArrowDown");
  await dropdown.getByText("2 selected").waitFor();
  await keyboard.press("ArrowDown");
  await keyboard.press("Space");
  await dropdown.getByText("3 selected").waitFor();
  await dropdown.getByRole("button", { name: "Archive", exact: true }).focus();
  await keyboard.press("Enter");
  await appPage.button("Chats (2)").waitFor();
  await dropdown.getByText("Archived (3)").waitFor();
  await eventually(async () => assert.equal(await focusedName(appPage), "Select chats"));

  await keyboard.press("Enter");
  await dropdown.getByRole("checkbox", { name: "Select all" }).waitFor();
  await keyboard.press("Escape");
  await dropdown.getByRole("searchbox").waitFor();
});
