import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { closeToasts, desk, focusedName, holdToast, inspect, looks, reach } from "./look.ts";
import { call, fail, hold, say } from "./scripted-model.ts";
import { Settings } from "./settings.ts";
import { startFixture } from "./fixture.ts";
import { eventually, type AppPage } from "./app-page.ts";

const fixture = await startFixture();
const markdown = [
  "## Totals\n\nIt is **100**, see [the source](https://example.com/a/rather/long/path/that/does/not/end).\n",
  "| month | revenue | costs | profit | note |\n|---|---|---|---|---|\n| January | 12,500 | 8,200 | 4,300 | aVeryLongWordWithoutBreaks |\n",
  "```ts\nconst total = items.map((item) => item.price * item.count).reduce((a, b) => a + b, 0);\n```\n",
].join("\n");

/** Every screen of the product, in the states that look different. */
async function walk(appPage: AppPage, look: (screen: string) => Promise<void>): Promise<void> {
  await appPage.open("/nowhere");
  await appPage.sees("Oops! Page not found");
  await look("404");
  await appPage.open();
  await appPage.sees("What would you like to do?");
  await look("chat-empty");
  await appPage.openTab("Tools");
  await appPage.sees("No Tools Available");
  await look("tools-empty");
  await appPage.openTab("MCP Servers");
  await appPage.sees("No active connections");
  await look("servers-empty");
  await appPage.page.getByText("API key and headers").click();
  await appPage.connect("toolbox", `${fixture.app.url}/mcp/toolbox`);
  await appPage.connection("toolbox").waitFor();
  await holdToast(appPage);
  await look("servers-toast");
  await closeToasts(appPage);
  await appPage.connect("broken", "http://127.0.0.1:1/mcp");
  await appPage
    .connection("broken")
    .getByText(/are used instead/u)
    .waitFor();
  await closeToasts(appPage);
  await look("servers");
  await appPage.openTab("Tools");
  await appPage.toolCard("calculate").waitFor();
  await look("tools");
  await appPage.toolCard("calculate").getByRole("button", { name: "Use Tool" }).click();
  await appPage.sheet.getByLabel("expression").fill("12.5 * 8");
  await appPage.sheet.getByRole("button", { name: "Run", exact: true }).click();
  await appPage.sheet.getByRole("region", { name: "Result" }).waitFor();
  await look("tool-sheet");
  await appPage.sheet.getByRole("button", { name: "Use in chat" }).click();
  await appPage.composer.fill("");
  await look("chat-suggestions");
  await walkChat(appPage, look);
}

async function walkChat(appPage: AppPage, look: (screen: string) => Promise<void>): Promise<void> {
  const rest = Promise.withResolvers<void>();
  fixture.model.answer(
    call("calculate", { expression: "12.5 * 8" }),
    call("current_time", { timezone: "Nowhere" }),
  );
  fixture.model.answer(say("It is"), hold(rest.promise), say(` 100.\n\n${markdown}`));
  await appPage.ask("What is 12.5 times 8? Use calculate.");
  await appPage.answers.getByText("It is").waitFor();
  await look("chat-streaming");
  rest.resolve();
  await appPage.answered();
  await appPage.toolCall("calculate").getByRole("button", { expanded: false }).click();
  await look("chat-answer");
  await appPage.answers.getByRole("button", { name: "Usage and cost" }).click();
  await appPage.sees("Output tokens");
  await look("chat-usage");
  await appPage.page.keyboard.press("Escape");
  fixture.model.answer(fail(400, "the model has a headache"));
  await appPage.ask("And now?");
  await appPage.answers.last().getByRole("button", { name: "Try again" }).waitFor();
  await closeToasts(appPage);
  await look("chat-failed");
  const thinking = Promise.withResolvers<void>();
  fixture.model.answer(hold(thinking.promise), say("OK"));
  await appPage.ask("Think about it");
  await appPage.sees("AI is thinking...");
  await look("chat-thinking");
  thinking.resolve();
  await appPage.answered();
  await appPage.openChats();
  await look("chats");
  await appPage.page.keyboard.press("Escape");
  await appPage.button(/^Model: /u).click();
  await look("model");
}

for (const [name, options] of looks) {
  test(`every screen is free of accessibility faults at ${name}, and fits`, async (t) => {
    const check = (appPage: AppPage) => (screen: string) => inspect(appPage, screen, options);
    await walkAuth(t, options, check);
    const { appPage } = await fixture.openSignedInPage(t, options);
    await walk(appPage, check(appPage));
  });
}

async function walkAuth(
  t: TestContext,
  options: object,
  check: (appPage: AppPage) => (screen: string) => Promise<void>,
): Promise<void> {
  const appPage = await fixture.openPage(t, options);
  await appPage.open("/auth");
  await appPage.field("Email").waitFor();
  await check(appPage)("sign-in");
  await appPage.page.getByRole("tab", { name: "Sign Up" }).click();
  await check(appPage)("sign-up");
}

test("the main job can be done with the keyboard alone", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport: desk });
  await account.connectToolbox();
  const { page } = appPage;
  await appPage.open();
  await appPage.composer.waitFor();
  await reach(appPage, "Chat");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await appPage.toolCard("calculate").waitFor();
  await reach(appPage, "Use Tool");
  await page.keyboard.press("Enter");
  await appPage.sheet.waitFor();
  await page.keyboard.press("Escape");
  await appPage.sheet.waitFor({ state: "detached" });
  assert.equal(await focusedName(appPage), "Use Tool", "the focus comes back");
  // From every tab the shortcut leads to where one writes.
  await page.keyboard.press("Control+/");
  await eventually(async () => assert.equal(await focusedName(appPage), "Message"));
  fixture.model.answer(call("calculate", { expression: "1 + 1" }));
  fixture.model.answer(say("It is 2."));
  await page.keyboard.type("What is 1 + 1?");
  await page.keyboard.press("Enter");
  await appPage.answers.getByText("It is 2.").waitFor();
  await reach(appPage, "calculatetoolbox", "Shift+Tab");
  await page.keyboard.press("Enter");
  await appPage.toolCall("calculate").getByText("Arguments").waitFor();
});

test("whoever wants less motion gets none", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t, { reducedMotion: "reduce" });
  const held = Promise.withResolvers<void>();
  fixture.model.answer(hold(held.promise));
  await appPage.open();
  await appPage.ask("Think");
  await appPage.sees("AI is thinking...");
  const moving = () => appPage.page.evaluate(() => document.getAnimations().length);
  assert.equal(await moving(), 0);
  await appPage.openChats();
  assert.equal(await moving(), 0);
  held.resolve();
});

test("the colours are there before the first paint, as the system or the reader wants them", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t, { colorScheme: "dark" });
  const background = () => appPage.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  /** The color of the browser's bars: that of the first meta element whose media query matches. */
  const bars = () =>
    appPage.page.evaluate(() => {
      const colors = [...document.querySelectorAll<HTMLMetaElement>("meta[name=theme-color]")];
      return colors.find(({ media }) => matchMedia(media).matches)?.content;
    });
  await appPage.open();
  const dark = await background();
  assert.equal(await bars(), "#16191d");
  await Settings.open(appPage, "Appearance");
  await appPage.sheet.getByRole("radio", { name: "Light" }).click();
  const light = await background();
  assert.notEqual(light, dark);
  assert.equal(await bars(), "#ffffff");
  await appPage.page.reload({ waitUntil: "commit" });
  await appPage.page.locator("#root").waitFor({ state: "attached" });
  await eventually(async () => assert.equal(await background(), light));
  assert.equal(await bars(), "#ffffff");
  assert.equal(await appPage.sheet.getByRole("radio", { name: "Light" }).isChecked(), true);
  await appPage.sheet.getByRole("radio", { name: "System" }).first().click();
  await eventually(async () => assert.equal(await bars(), "#16191d"));
});
