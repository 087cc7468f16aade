import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { AxeResults, RunOptions } from "axe-core";
import { call, fail, hold, say } from "./scripted-model.ts";
import { openStage } from "./stage.ts";
import { eventually, type Visitor } from "./visitor.ts";

const stage = await openStage();
const axeSource = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** A folder for pictures of every screen; none are taken without it. */
const pictures = process.env["SCREENSHOTS"];

const phone = { width: 320, height: 640 };
const desk = { width: 1280, height: 800 };
/** The smallest side of what a finger can hit, in pixels. */
const finger = 44;
/** How far what floats stays from the sides of the window, in pixels. */
const margin = 8;
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
  await visitor.page.getByText("Key or headers").click();
  await visitor.connect("toolbox", `${stage.app.url}/mcp/toolbox`);
  await visitor.connection("toolbox").waitFor();
  await visitor.toasts.first().waitFor();
  await look("servers-toast");
  await closeToasts(visitor);
  await visitor.connect("broken", "http://127.0.0.1:1/mcp");
  await visitor
    .connection("broken")
    .getByText(/stand in/u)
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

/** Puts the toasts away, which would hide what is to be looked at. */
async function closeToasts({ toasts }: Visitor): Promise<void> {
  await toasts.first().waitFor();
  while ((await toasts.count()) > 0) await toasts.first().getByRole("button", { name: "Close" }).click();
}

for (const [size, viewport] of [
  ["320", phone],
  ["1280", desk],
] as const) {
  for (const colorScheme of ["light", "dark"] as const) {
    test(`every screen is free of accessibility faults at ${size} px, ${colorScheme}, and fits`, async (t) => {
      const options = { viewport, colorScheme, hasTouch: viewport === phone };
      const check = (visitor: Visitor) => async (screen: string) => {
        await settled(visitor);
        await takePicture(visitor, `${screen}-${size}-${colorScheme}`);
        assert.deepEqual(await faults(visitor), [], screen);
        assert.deepEqual(await overflows(visitor), [], `${screen} scrolls sideways`);
        assert.deepEqual(await atTheEdge(visitor), [], `${screen}: what floats keeps off the edges`);
        if (viewport === phone) assert.deepEqual(await tooSmall(visitor), [], `${screen}: hard to hit`);
      };
      await walkAuth(t, options, check);
      const { visitor } = await stage.member(t, options);
      await walk(visitor, check(visitor));
    });
  }
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

/** Waits for what moves to come to rest; what runs for ever is left to run. */
async function settled({ page }: Visitor): Promise<void> {
  await page.evaluate(async () => {
    const ending = document
      .getAnimations()
      .filter((one) => one.effect?.getComputedTiming().iterations !== Infinity);
    await Promise.allSettled(ending.map((one) => one.finished));
  });
}

async function takePicture({ page }: Visitor, name: string): Promise<void> {
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`) });
}

async function faults({ page }: Visitor): Promise<string[]> {
  await page.evaluate(axeSource);
  const results = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run: (options: RunOptions) => Promise<AxeResults> } };
    return axe.run({ resultTypes: ["violations"] });
  });
  return results.violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html}`));
}

/** What makes the page, or a panel of it, wider than its place. */
function overflows({ page }: Visitor): Promise<string[]> {
  return page.evaluate(() => {
    const panels = [
      document.documentElement,
      ...document.querySelectorAll("main, [role=tabpanel], [aria-label=Conversation], dialog[open]"),
    ];
    return panels
      .filter((panel) => panel.scrollWidth > panel.clientWidth)
      .map((panel) => `${panel.tagName} ${panel.scrollWidth} > ${panel.clientWidth}`);
  });
}

/** What floats over the page and comes too close to a side of the window. */
function atTheEdge({ page }: Visitor): Promise<string[]> {
  return page.evaluate((least) => {
    const floating = [...document.querySelectorAll("[popover]:popover-open")];
    return floating
      .map((one) => ({
        name: one.ariaLabel,
        left: one.getBoundingClientRect().left,
        right: innerWidth - one.getBoundingClientRect().right,
      }))
      .filter(({ left, right }) => Math.min(left, right) < least)
      .map(({ name, left, right }) => `${name}: ${left} left, ${right} right`);
  }, margin);
}

/** The controls that a finger would miss, apart from links inside text. */
function tooSmall({ page }: Visitor): Promise<string[]> {
  return page.evaluate((least) => {
    const controls = [
      ...document.querySelectorAll<HTMLElement>("button, input, select, textarea, summary, [role=tab]"),
    ];
    return controls
      .filter((control) => control.checkVisibility({ visibilityProperty: true }))
      .filter(
        (control) => control.tagName !== "TEXTAREA" && control.getBoundingClientRect().height < least - 0.5,
      )
      .map(
        (control) =>
          `${control.getAttribute("aria-label") ?? control.textContent}: ${control.getBoundingClientRect().height}`,
      );
  }, finger);
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
  await page.keyboard.press("Control+/");
  await reach(visitor, "Tools", "Shift+Tab");
  await page.keyboard.press("Home");
  await reach(visitor, "Message");
  stage.model.answer(call("calculate", { expression: "1 + 1" }));
  stage.model.answer(say("It is 2."));
  await page.keyboard.type("What is 1 + 1?");
  await page.keyboard.press("Enter");
  await visitor.answers.getByText("It is 2.").waitFor();
  await reach(visitor, "calculatetoolbox", "Shift+Tab");
  await page.keyboard.press("Enter");
  await visitor.toolCall("calculate").getByText("Arguments").waitFor();
});

/** Presses the key until the focus stands on what begins with this name, and looks whether it can be seen there. */
async function reach(visitor: Visitor, name: string, key = "Tab"): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    if ((await focusedName(visitor)).startsWith(name)) {
      const seen = await visitor.page.evaluate(() => {
        const { activeElement: at } = document;
        // The message field lends its ring to the box around it.
        return at !== null && (getComputedStyle(at).outlineStyle !== "none" || at.tagName === "TEXTAREA");
      });
      assert.ok(seen, `the focus on ${name} can be seen`);
      return;
    }
    await visitor.page.keyboard.press(key);
  }
  assert.fail(`${name} cannot be reached with ${key}`);
}

function focusedName({ page }: Visitor): Promise<string> {
  return page.evaluate(() => {
    const at = document.activeElement;
    return (at?.getAttribute("aria-label") ?? at?.textContent ?? "").trim();
  });
}

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
