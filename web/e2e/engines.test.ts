import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { type Engine, engines, type Key } from "./engines.ts";
import { call, say } from "./scripted-model.ts";
import { serveTools } from "./scripted-mcp.ts";
import { startServerFixture } from "./fixture.ts";
import { eventually } from "./app-page.ts";

const { app, model } = await startServerFixture();

const CHATS = "button[aria-haspopup=dialog]";
const COMPOSER = "textarea";
const SCROLLING = "[role=dialog][data-open]";

for (const [name, start] of engines) {
  test(`the page's main paths work in ${name}`, (t) => journey(t, start));
}

/** Signs up, connects a server, answers an approval, uses menus, writes several lines and loads the page again. */
async function journey(t: TestContext, start: () => Promise<Engine>): Promise<void> {
  const sent: unknown[] = [];
  const tool = {
    name: "send",
    description: "Sends a letter.",
    inputSchema: { type: "object", properties: { to: { type: "string" } } },
    run: (args: unknown) => {
      sent.push(args);
      return "It is on its way.";
    },
  };
  const server = await serveTools([tool]);
  t.after(() => server.stop());
  t.after(() => model.reset());
  const engine = await start();
  t.after(() => engine.close());
  const page = new Page(engine);

  // Not subtests: a second attempt repeats only those that failed, and these build on each other.
  await signUp(page);
  await connectServer(page, server.url);
  await answerApproval(page);
  assert.deepEqual(sent, [{ to: "Ada" }]);
  await walkMenus(page);
  await writeLines(page);
  await reload(page);
}

/** Creates an account. */
async function signUp(page: Page): Promise<void> {
  await page.engine.open(`${app.url}/auth`);
  await page.click("[role=tab]", "Sign Up");
  await page.fill("input[type=email]", `${crypto.randomUUID()}@example.com`);
  await page.fill("input[type=password]", "correct horse battery");
  await page.click("form button", "Sign Up");
  await page.find(COMPOSER, "Message");
}

/** Connects a server with one tool. */
async function connectServer(page: Page, url: string): Promise<void> {
  await page.click("[role=tab]", "MCP Servers");
  await page.fill("input", "post", "Server Name");
  await page.fill("input", url, "MCP Server URL");
  await page.click("button", "Connect to MCP Server");
  await page.find("[data-toasts] p", "Connected to post with 1 tools");
  await page.click("[role=tab]", "Chat");
}

/** Sends a question and allows the tool call that it leads to. */
async function answerApproval(page: Page): Promise<void> {
  model.answer(call("send", { to: "Ada" }));
  model.answer(say("Sent."));
  await page.fill(COMPOSER, "Write to Ada");
  await page.engine.press("Enter");
  await page.click("button", "Allow once");
  await page.find("article p", "Sent.");
}

/** Menus open in sight, are walked with the keyboard, and give the focus back. */
async function walkMenus(page: Page): Promise<void> {
  await page.click(CHATS, "Chats (1)");
  await page.isInside(SCROLLING, "Recent Chats");
  await page.click("button", "More for Write to Ada");
  await page.isInside("[role=menu]", "More for Write to Ada");
  await page.focusMoves("End", "Download as JSON");
  await page.focusMoves("Home", "Rename");
  await page.engine.type("do");
  await eventually(async () => assert.equal(await page.focused(), "Download as Markdown"));
  await page.engine.press("Escape");
  await eventually(async () => assert.equal(await page.focused(), "More for Write to Ada"));
  await page.engine.press("Escape");
  await eventually(async () => assert.equal(await page.focused(), "Chats (1)"));
  assert.equal(await page.count(SCROLLING), 0);
  await page.click("button", "Model: scripted");
  await page.isInside(SCROLLING, "About the model");
  await page.engine.press("Escape");
  await eventually(async () => assert.equal(await page.focused(), "Model: scripted"));
}

/** The composer grows with its lines, and shrinks when they are sent. */
async function writeLines(page: Page): Promise<void> {
  const one = await page.height(COMPOSER);
  await page.fill(COMPOSER, "One");
  for (const line of ["two", "three", "four"]) {
    await page.engine.press("Enter", true);
    await page.engine.type(line);
  }
  const four = await page.height(COMPOSER);
  assert.ok(four > one * 2.5, `four lines are ${four} px high, one is ${one} px`);
  model.answer(say("Four lines."));
  await page.engine.press("Enter");
  await page.find("article p", "Four lines.");
  assert.equal(await page.height(COMPOSER), one);
}

/** The chat is there after a reload. */
async function reload(page: Page): Promise<void> {
  await page.engine.open(`${app.url}/`);
  await page.find("article p", "Four lines.");
  await page.find("article p", "Sent.");
}

interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** The page as its user sees it: elements are found by a selector and by their names. */
class Page {
  readonly engine: Engine;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** Waits for an element and returns where it is. */
  async find(selector: string, name?: string): Promise<Box> {
    let found: Box | null = null;
    await eventually(async () => {
      found = await this.engine.run(locate, selector, name ?? "");
      assert.ok(found, `${selector} “${name ?? ""}” is in sight`);
    });
    return found as unknown as Box;
  }

  async click(selector: string, name?: string): Promise<void> {
    const { left, top, right, bottom } = await this.find(selector, name);
    await this.engine.click((left + right) / 2, (top + bottom) / 2);
  }

  async fill(selector: string, text: string, name?: string): Promise<void> {
    await this.click(selector, name);
    await this.engine.type(text);
  }

  /** Waits until an element is inside the window. */
  async isInside(selector: string, name: string): Promise<void> {
    await eventually(async () => {
      const { left, top, right, bottom } = await this.find(selector, name);
      const { width, height } = await this.engine.run(() => ({ width: innerWidth, height: innerHeight }));
      const isInside = left >= 0 && top >= 0 && right <= width && bottom <= height && bottom - top > 40;
      assert.ok(isInside, `${name} is inside the window: ${[left, top, right, bottom].join(", ")}`);
    });
  }

  async focusMoves(key: Key, to: string): Promise<void> {
    await eventually(async () => {
      await this.engine.press(key);
      assert.equal(await this.focused(), to);
    });
  }

  focused(): Promise<string> {
    return this.engine.run(() => {
      const at = document.activeElement;
      return (at?.getAttribute("aria-label") ?? at?.textContent ?? "").trim();
    });
  }

  height(selector: string): Promise<number> {
    return this.engine.run(
      (of: string) => document.querySelector(of)?.getBoundingClientRect().height ?? 0,
      selector,
    );
  }

  count(selector: string): Promise<number> {
    return this.engine.run((of: string) => document.querySelectorAll(of).length, selector);
  }
}

/** Runs in the page. */
function locate(selector: string, name: string): Box | null {
  for (const element of document.querySelectorAll(selector)) {
    const labels = element instanceof HTMLInputElement ? [...(element.labels ?? [])] : [];
    const names = [element.ariaLabel, element.textContent, ...labels.map((label) => label.textContent)];
    if (name !== "" && !names.some((one) => one?.trim() === name)) continue;
    if (!element.checkVisibility() || element.matches(":disabled")) continue;
    element.scrollIntoView({ block: "nearest" });
    const { left, top, right, bottom } = element.getBoundingClientRect();
    const at = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    if (at !== null && (element.contains(at) || at.contains(element))) return { left, top, right, bottom };
  }
  return null;
}
