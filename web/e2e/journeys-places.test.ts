import assert from "node:assert/strict";
import { test } from "node:test";
import { focusedName } from "./look.ts";
import { openStage } from "./stage.ts";
import { eventually, type Visitor } from "./visitor.ts";

const stage = await openStage();

const chat = (visitor: Visitor, title: string) =>
  visitor.page.getByRole("region", { name: title, exact: true });

test("Back returns to the chat before, and Forward to the one after", async (t) => {
  const { account, visitor } = await stage.member(t);
  for (const title of ["Second", "First"]) await account.newChat(title);
  await visitor.open();
  await chat(visitor, "First").waitFor();
  const dropdown = await visitor.openChats();
  await dropdown.getByRole("button", { name: /^Second/u }).click();
  await chat(visitor, "Second").waitFor();
  await visitor.page.goBack();
  await chat(visitor, "First").waitFor();
  await visitor.page.goForward();
  await chat(visitor, "Second").waitFor();
});

test("Back does not open settings again that were closed, and closes those that are open", async (t) => {
  const { visitor } = await stage.member(t);
  await visitor.open();
  await visitor.openTab("Tools");
  await visitor.button("Settings").click();
  await visitor.sheet.waitFor();
  await visitor.page.keyboard.press("Escape");
  await visitor.sheet.waitFor({ state: "detached" });
  await eventually(async () => assert.equal(await focusedName(visitor), "Settings"));
  await visitor.page.goBack();
  await eventually(async () => assert.equal(await visitor.tab("Chat").getAttribute("aria-selected"), "true"));
  assert.equal(await visitor.sheet.count(), 0);
  await visitor.button("Settings").click();
  await visitor.sheet.waitFor();
  await visitor.page.goBack();
  await visitor.sheet.waitFor({ state: "detached" });
});

test("New Chat in an empty chat stays there, with the cursor in the message field", async (t) => {
  const { account, visitor } = await stage.member(t);
  await account.newChat("Empty");
  await visitor.open();
  await chat(visitor, "Empty").waitFor();
  await visitor.button("Open MCP Servers").waitFor();
  await visitor.button("New Chat").click();
  await eventually(async () => assert.equal(await focusedName(visitor), "Message"));
  await visitor.button("Chats (1)").waitFor();
  assert.equal((await account.call<unknown[]>("/rest/v1/ai_chat_sessions")).length, 1);
});

test("shortcuts work on every tab, and not under a sheet", async (t) => {
  const { account, visitor } = await stage.member(t);
  await account.fill(await account.newChat("Talk"), ["A question", "An answer"]);
  await visitor.open();
  await visitor.answers.first().waitFor();
  await visitor.openTab("Tools");
  await visitor.page.keyboard.press("Control+k");
  await visitor.page.getByRole("searchbox", { name: "Search chats" }).waitFor();
  await visitor.page.keyboard.press("Escape");
  await visitor.openTab("MCP Servers");
  await visitor.page.keyboard.press("Control+/");
  await eventually(async () => assert.equal(await focusedName(visitor), "Message"));
  await visitor.openTab("Tools");
  await visitor.button("Settings").click();
  await visitor.sheet.waitFor();
  await visitor.page.keyboard.press("Control+Shift+o");
  await visitor.page.keyboard.press("Escape");
  await visitor.sheet.waitFor({ state: "detached" });
  assert.equal(await visitor.tab("Tools").getAttribute("aria-selected"), "true");
  await visitor.page.keyboard.press("Control+Shift+o");
  await visitor.button("Chats (2)").waitFor();
});

test("Control+K stays with the text field on a Mac, where Command+K finds chats", async (t) => {
  const { visitor } = await stage.member(t);
  await visitor.page.addInitScript(() => {
    Object.defineProperty(Navigator.prototype, "platform", { get: () => "MacIntel" });
  });
  await visitor.open();
  await visitor.composer.focus();
  await visitor.page.keyboard.press("Control+k");
  await visitor.page.keyboard.press("Meta+k");
  const search = visitor.page.getByRole("searchbox", { name: "Search chats" });
  await search.waitFor();
  await visitor.page.keyboard.press("Control+k");
  assert.ok(await search.isVisible(), "the list would have been closed again");
});

test("counts are left out until they are known", async (t) => {
  const { account, visitor } = await stage.member(t);
  await account.newChat("Talk");
  const held = Promise.withResolvers<void>();
  await visitor.page.route(/\/rest\/v1\/(?:ai_chat_sessions|mcp_servers)\?/u, async (route) => {
    await held.promise;
    await route.continue();
  });
  await visitor.open();
  await visitor.button("Chats").waitFor();
  await visitor.page.getByRole("tab", { name: "Tools", exact: true }).waitFor();
  held.resolve();
  await visitor.button("Chats (1)").waitFor();
  await visitor.page.getByRole("tab", { name: "Tools (0)", exact: true }).waitFor();
});

test("a tool's form begins in its first field", async (t) => {
  const { account, visitor } = await stage.member(t);
  await account.connect("my-tools", `${stage.app.url}/mcp/toolbox`);
  await visitor.open("/?tab=tools");
  await visitor.toolCard("calculate").getByRole("button").first().click();
  await visitor.sheet.waitFor();
  await eventually(async () =>
    assert.ok(
      await visitor.sheet.evaluate(
        (sheet) => sheet.querySelector("input, textarea") === document.activeElement,
      ),
    ),
  );
});

test("a task list says which tasks are done", async (t) => {
  const { account, visitor } = await stage.member(t);
  await account.fill(await account.newChat("Tasks"), ["What is left?", "- [x] Sow\n- [ ] Reap"]);
  await visitor.open();
  await visitor.answers.getByRole("checkbox", { name: "Done", checked: true }).waitFor();
  await visitor.answers.getByRole("checkbox", { name: "To do", checked: false }).waitFor();
});

test("the name of a connection is read whole on a small phone", async (t) => {
  const { account, visitor } = await stage.member(t, {
    viewport: { width: 320, height: 640 },
    hasTouch: true,
  });
  const name = "The department's shared calendar and notes";
  await account.connect(name, `${stage.app.url}/mcp/toolbox`);
  await visitor.open("/?tab=servers");
  const row = visitor.connection(name);
  await row.waitFor();
  if (process.env["SCREENSHOTS"])
    await visitor.page.screenshot({ path: `${process.env["SCREENSHOTS"]}/connection-320.png` });
  const shown = row.getByText(name, { exact: true });
  const { overflow, clipped } = await shown.evaluate((one) => ({
    overflow: getComputedStyle(one).textOverflow,
    clipped: one.scrollWidth > one.clientWidth + 1,
  }));
  assert.deepEqual({ overflow, clipped }, { overflow: "clip", clipped: false });
});
