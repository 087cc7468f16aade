import assert from "node:assert/strict";
import { test } from "node:test";
import { focusedName } from "./look.ts";
import { startFixture } from "./fixture.ts";
import { eventually, type AppPage } from "./app-page.ts";

const fixture = await startFixture();

const chat = (appPage: AppPage, title: string) =>
  appPage.page.getByRole("region", { name: title, exact: true });

const palette = ({ page }: AppPage) => page.getByRole("dialog", { name: "Command palette" });

test("Back returns to the chat before, and Forward to the one after", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  for (const title of ["Second", "First"]) await account.newChat(title);
  await appPage.open();
  await chat(appPage, "First").waitFor();
  const dropdown = await appPage.openChats();
  await dropdown.getByRole("button", { name: /^Second/u }).click();
  await chat(appPage, "Second").waitFor();
  await appPage.page.goBack();
  await chat(appPage, "First").waitFor();
  await appPage.page.goForward();
  await chat(appPage, "Second").waitFor();
});

test("Back and Forward lead to the chat of the URL from another tab and from a temporary chat", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  for (const title of ["Second", "First"]) await account.newChat(title);
  await appPage.open();
  await chat(appPage, "First").waitFor();
  await (await appPage.openChats()).getByRole("button", { name: /^Second/u }).click();
  await chat(appPage, "Second").waitFor();
  await appPage.openTab("Tools");
  await appPage.page.evaluate(() => history.go(-2));
  await chat(appPage, "First").waitFor();
  await appPage.page.goForward();
  await chat(appPage, "Second").waitFor();
  await appPage.openChats();
  await appPage.button("New temporary chat").click();
  await chat(appPage, "Temporary chat").waitFor();
  await appPage.page.goBack();
  await chat(appPage, "First").waitFor();
});

test("a chat that is gone leaves its place in the URL to the latest", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const latest = await account.newChat("Latest");
  await appPage.open("/?c=gone&tab=tools");
  await appPage.openTab("Chat");
  await chat(appPage, "Latest").waitFor();
  await eventually(async () => assert.equal(new URL(appPage.page.url()).searchParams.get("c"), latest));
});

test("Back does not open settings again that were closed, and closes those that are open", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await appPage.openTab("Tools");
  await appPage.pressInHeader("Settings");
  await appPage.sheet.waitFor();
  await appPage.page.keyboard.press("Escape");
  await appPage.sheet.waitFor({ state: "detached" });
  await eventually(async () => assert.equal(await focusedName(appPage), "Settings"));
  await appPage.page.goBack();
  await eventually(async () => assert.equal(await appPage.tab("Chat").getAttribute("aria-selected"), "true"));
  assert.equal(await appPage.sheet.count(), 0);
  await appPage.pressInHeader("Settings");
  await appPage.sheet.waitFor();
  await appPage.page.goBack();
  await appPage.sheet.waitFor({ state: "detached" });
});

test("New Chat in an empty chat stays there, with the cursor in the message field", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.newChat("Empty");
  await appPage.open();
  await chat(appPage, "Empty").waitFor();
  await appPage.button(/^Add a server/u).waitFor();
  await appPage.newChat.click();
  await eventually(async () => assert.equal(await focusedName(appPage), "Message"));
  await appPage.button("Chats (1)").waitFor();
  assert.equal((await account.call<unknown[]>("/rest/v1/ai_chat_sessions")).length, 1);
});

test("shortcuts work on every tab, and not under a sheet", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.fill(await account.newChat("Talk"), ["A question", "An answer"]);
  await appPage.open();
  await appPage.answers.first().waitFor();
  await appPage.openTab("Tools");
  await appPage.page.keyboard.press("Control+k");
  await palette(appPage).waitFor();
  await appPage.page.keyboard.press("Escape");
  await appPage.openTab("MCP Servers");
  await appPage.page.keyboard.press("Control+/");
  await eventually(async () => assert.equal(await focusedName(appPage), "Message"));
  await appPage.openTab("Tools");
  await appPage.pressInHeader("Settings");
  await appPage.sheet.waitFor();
  await appPage.page.keyboard.press("Control+Shift+o");
  await appPage.page.keyboard.press("Escape");
  await appPage.sheet.waitFor({ state: "detached" });
  assert.equal(await appPage.tab("Tools").getAttribute("aria-selected"), "true");
  await appPage.page.keyboard.press("Control+Shift+o");
  await appPage.button("Chats (2)").waitFor();
});

test("Control+K stays with the text field on a Mac, where Command+K opens the palette", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.page.addInitScript(() => {
    Object.defineProperty(Navigator.prototype, "platform", { get: () => "MacIntel" });
  });
  await appPage.open();
  await appPage.composer.focus();
  await appPage.page.keyboard.press("Control+k");
  assert.equal(await palette(appPage).count(), 0);
  await appPage.page.keyboard.press("Meta+k");
  await palette(appPage).getByRole("combobox").waitFor();
});

test("counts are left out until they are known", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.newChat("Talk");
  const held = Promise.withResolvers<void>();
  await appPage.page.route(/\/rest\/v1\/(?:ai_chat_sessions|mcp_servers)\?/u, async (route) => {
    await held.promise;
    await route.continue();
  });
  await appPage.open();
  await appPage.button("Chats").waitFor();
  await appPage.page.getByRole("tab", { name: "Tools", exact: true }).waitFor();
  held.resolve();
  await appPage.button("Chats (1)").waitFor();
  await appPage.page.getByRole("tab", { name: "Tools (0)", exact: true }).waitFor();
});

test("a tool's form begins in its first field", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connect("my-tools", `${fixture.app.url}/mcp/toolbox`);
  await appPage.open("/?tab=tools");
  await appPage.toolCard("calculate").getByRole("button").first().click();
  await appPage.sheet.waitFor();
  await eventually(async () =>
    assert.ok(
      await appPage.sheet.evaluate(
        (sheet) => sheet.querySelector("input, textarea") === document.activeElement,
      ),
    ),
  );
});

test("a task list says which tasks are done", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.fill(await account.newChat("Tasks"), ["What is left?", "- [x] Sow\n- [ ] Reap"]);
  await appPage.open();
  await appPage.answers.getByRole("checkbox", { name: "Done", checked: true }).waitFor();
  await appPage.answers.getByRole("checkbox", { name: "To do", checked: false }).waitFor();
});

test("the name of a connection is read whole on a small phone", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, {
    viewport: { width: 320, height: 640 },
    hasTouch: true,
  });
  const name = "The department's shared calendar and notes";
  await account.connect(name, `${fixture.app.url}/mcp/toolbox`);
  await appPage.open("/?tab=servers");
  const row = appPage.connection(name);
  await row.waitFor();
  if (process.env["SCREENSHOTS"])
    await appPage.page.screenshot({ path: `${process.env["SCREENSHOTS"]}/connection-320.png` });
  const shown = row.getByText(name, { exact: true });
  const { overflow, clipped } = await shown.evaluate((one) => ({
    overflow: getComputedStyle(one).textOverflow,
    clipped: one.scrollWidth > one.clientWidth + 1,
  }));
  assert.deepEqual({ overflow, clipped }, { overflow: "clip", clipped: false });
});
