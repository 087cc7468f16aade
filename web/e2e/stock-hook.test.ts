import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { build } from "vite";
import { Account, type ToolChoice } from "./account.ts";
import { call, hold, say } from "./scripted-model.ts";
import { startFixture } from "./fixture.ts";
import type { Setup } from "./stock-hook.tsx";
import type { AppPage } from "./app-page.ts";

const fixture = await startFixture();
const script = await bundle(join(import.meta.dirname, "stock-hook.tsx"));
const path = "/stock-hook";

/** One script with everything that the module needs. */
async function bundle(entry: string): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: "error",
    define: { "process.env.NODE_ENV": JSON.stringify("production") },
    build: { write: false, lib: { entry, formats: ["iife"], name: "page" } },
  });
  const [result] = Array.isArray(built) ? built : [built];
  assert.ok(result && "output" in result);
  return result.output[0].code;
}

/** Opens a page that is nothing but the hook, on the app's own origin, for a new chat of the account. */
async function openHook({ page }: AppPage, account: Account, tools: ToolChoice[]): Promise<void> {
  const setup: Setup = {
    chat: await account.newChat(),
    tools,
    headers: { ...account.headers, accept: "text/event-stream" },
  };
  const body = `<!doctype html><div id="root"></div><script src="${path}.js"></script>`;
  await page.route(`**${path}`, (route) => route.fulfill({ contentType: "text/html", body }));
  await page.route(`**${path}.js`, (route) =>
    route.fulfill({
      contentType: "text/javascript",
      body: `var setup = ${JSON.stringify(setup)};\n${script}`,
    }),
  );
  const resumed = resumption(page);
  await page.goto(path);
  assert.equal(await resumed, 204, "nothing is running yet");
}

/** The status of the next attempt to take up a running turn. */
async function resumption(page: Page): Promise<number> {
  const response = await page.waitForResponse((one) => one.url().endsWith("/stream"));
  return response.status();
}

async function ask({ page }: AppPage, text: string): Promise<void> {
  await page.getByLabel("Question").fill(text);
  await page.getByLabel("Question").press("Enter");
}

/** Waits until the assistant's message has exactly this text and nothing is under way. */
async function answered({ page }: AppPage, text: string): Promise<void> {
  await page.getByRole("article", { name: "assistant" }).getByText(text, { exact: true }).waitFor();
  await page.getByRole("status").getByText("ready", { exact: true }).waitFor();
}

test("the unchanged React hook of the AI SDK shows a turn with a tool and text", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await openHook(appPage, account, await account.connectToolbox());
  fixture.model.answer(call("calculate", { expression: "6 * 7" }));
  fixture.model.answer(say("It is **42**."));
  await ask(appPage, "What is 6 times 7?");
  await answered(appPage, "It is **42**.");
  const tool = appPage.page.getByTitle("calculate output-available", { exact: true });
  assert.match(await tool.innerText(), /42/u);
});

test("the unchanged React hook of the AI SDK takes up a running turn after a reload", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await openHook(appPage, account, []);
  const rest = Promise.withResolvers<void>();
  fixture.model.answer(say("First half, "), hold(rest.promise), say("second half."));
  await ask(appPage, "Tell me");
  await appPage.sees(/^First half,\s*$/u);
  const resumed = resumption(appPage.page);
  await appPage.page.reload();
  assert.equal(await resumed, 200);
  await appPage.sees(/^First half,\s*$/u);
  rest.resolve();
  await answered(appPage, "First half, second half.");
  assert.equal(await appPage.page.getByRole("article").count(), 1, "the turn makes one message");
});
