import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { closeToasts, desk, focusedName, holdToast, inspect, looks, reach } from "./look.ts";
import { call, fail, hold, say } from "./scripted-model.ts";
import { openStage } from "./stage.ts";
import { eventually, type Visitor } from "./visitor.ts";

const stage = await openStage();
const markdown = [
  "## Totals\n\nIt is **100**, see [the source](https://example.com/a/rather/long/path/that/does/not/end).\n",
  "| month | revenue | costs | profit | note |\n|---|---|---|---|---|\n| January | 12,500 | 8,200 | 4,300 | aVeryLongWordWithoutBreaks |\n",
  "```ts\nconst total = items.map((item) => item.price * item.count).reduce((a, b) => a + b, 0);\n```\n",
].join("\n");

/** Every screen of the product, in the states that look different. */
async function walk(visitor: Visitor, look: (screen: string) => Promise<void>): Promise<void> {
  await visitor.open("/nowhere");
  await visitor.sees("Oops! Page not found");
  await look("404");
  await visitor.open();
  await visitor.sees("What would you like to do?");
  await look("chat-empty");
  await visitor.openTab("Tools");
  await visitor.sees("No Tools Available");
  await look("tools-empty");
  await visitor.openTab("MCP Servers");
  await visitor.sees("No active connections");
  await look("servers-empty");
  await visitor.page.getByText("API key and headers").click();
  await visitor.connect("toolbox", `${stage.app.url}/mcp/toolbox`);
  await visitor.connection("toolbox").waitFor();
  await holdToast(visitor);
  await look("servers-toast");
  await closeToasts(visitor);
  await visitor.connect("broken", "http://127.0.0.1:1/mcp");
  await visitor
    .connection("broken")
    .getByText(/are used instead/u)
    .waitFor();
  await closeToasts(visitor);
  await look("servers");
  await visitor.openTab("Tools");
  await visitor.toolCard("calculate").waitFor();
  await look("tools");
  await visitor.toolCard("calculate").getByRole("button", { name: "Use Tool" }).click();
  await visitor.sheet.getByLabel("expression").fill("12.5 * 8");
  await visitor.sheet.getByRole("button", { name: "Run", exact: true }).click();
  await visitor.sheet.getByRole("region", { name: "Result" }).waitFor();
  await look("tool-sheet");
  await visitor.sheet.getByRole("button", { name: "Use in chat" }).click();
  await visitor.composer.fill("");
  await look("chat-suggestions");
  await walkChat(visitor, look);
}

async function walkChat(visitor: Visitor, look: (screen: string) => Promise<void>): Promise<void> {
  const rest = Promise.withResolvers<void>();
  stage.model.answer(
    call("calculate", { expression: "12.5 * 8" }),
    call("current_time", { timezone: "Nowhere" }),
  );
  stage.model.answer(say("It is"), hold(rest.promise), say(` 100.\n\n${markdown}`));
  await visitor.ask("What is 12.5 times 8? Use calculate.");
  await visitor.answers.getByText("It is").waitFor();
  await look("chat-streaming");
  rest.resolve();
  await visitor.answered();
  await visitor.toolCall("calculate").getByRole("button", { expanded: false }).click();
  await look("chat-answer");
  await visitor.answers.getByRole("button", { name: "Usage and cost" }).click();
  await visitor.sees("Output tokens");
  await look("chat-usage");
  await visitor.page.keyboard.press("Escape");
  stage.model.answer(fail(400, "the model has a headache"));
  await visitor.ask("And now?");
  await visitor.answers.last().getByRole("button", { name: "Try again" }).waitFor();
  await closeToasts(visitor);
  await look("chat-failed");
  const thinking = Promise.withResolvers<void>();
  stage.model.answer(hold(thinking.promise), say("OK"));
  await visitor.ask("Think about it");
  await visitor.sees("AI is thinking...");
  await look("chat-thinking");
  thinking.resolve();
  await visitor.answered();
  await visitor.openChats();
  await look("chats");
  await visitor.page.keyboard.press("Escape");
  await visitor.button(/^Model: /u).click();
  await look("model");
}

for (const [name, options] of looks) {
  test(`every screen is free of accessibility faults at ${name}, and fits`, async (t) => {
    const check = (visitor: Visitor) => (screen: string) => inspect(visitor, screen, options);
    await walkAuth(t, options, check);
    const { visitor } = await stage.member(t, options);
    await walk(visitor, check(visitor));
  });
}

async function walkAuth(
  t: TestContext,
  options: object,
  check: (visitor: Visitor) => (screen: string) => Promise<void>,
): Promise<void> {
  const visitor = await stage.visitor(t, options);
  await visitor.open("/auth");
  await visitor.field("Email").waitFor();
  await check(visitor)("sign-in");
  await visitor.page.getByRole("tab", { name: "Sign Up" }).click();
  await check(visitor)("sign-up");
}

test("the main job can be done with the keyboard alone", async (t) => {
  const { account, visitor } = await stage.member(t, { viewport: desk });
  await account.connectToolbox();
  const { page } = visitor;
  await visitor.open();
  await visitor.composer.waitFor();
  await reach(visitor, "Chat");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await visitor.toolCard("calculate").waitFor();
  await reach(visitor, "Use Tool");
  await page.keyboard.press("Enter");
  await visitor.sheet.waitFor();
  await page.keyboard.press("Escape");
  await visitor.sheet.waitFor({ state: "detached" });
  assert.equal(await focusedName(visitor), "Use Tool", "the focus comes back");
  // From every tab the shortcut leads to where one writes.
  await page.keyboard.press("Control+/");
  await eventually(async () => assert.equal(await focusedName(visitor), "Message"));
  stage.model.answer(call("calculate", { expression: "1 + 1" }));
  stage.model.answer(say("It is 2."));
  await page.keyboard.type("What is 1 + 1?");
  await page.keyboard.press("Enter");
  await visitor.answers.getByText("It is 2.").waitFor();
  await reach(visitor, "calculatetoolbox", "Shift+Tab");
  await page.keyboard.press("Enter");
  await visitor.toolCall("calculate").getByText("Arguments").waitFor();
});

test("whoever wants less motion gets none", async (t) => {
  const { visitor } = await stage.member(t, { reducedMotion: "reduce" });
  const held = Promise.withResolvers<void>();
  stage.model.answer(hold(held.promise));
  await visitor.open();
  await visitor.ask("Think");
  await visitor.sees("AI is thinking...");
  const moving = () => visitor.page.evaluate(() => document.getAnimations().length);
  assert.equal(await moving(), 0);
  await visitor.openChats();
  assert.equal(await moving(), 0);
  held.resolve();
});

test("the colours are there before the first paint, as the system or the reader wants them", async (t) => {
  const { visitor } = await stage.member(t, { colorScheme: "dark" });
  const background = () => visitor.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await visitor.open();
  const dark = await background();
  await visitor.button("Settings").click();
  await visitor.sheet.getByRole("radio", { name: "Light" }).check();
  const light = await background();
  assert.notEqual(light, dark);
  await visitor.page.reload({ waitUntil: "commit" });
  await visitor.page.locator("#root").waitFor({ state: "attached" });
  await eventually(async () => assert.equal(await background(), light));
  assert.equal(await visitor.sheet.getByRole("radio", { name: "Light" }).isChecked(), true);
});
