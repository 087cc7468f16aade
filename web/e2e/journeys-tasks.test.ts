import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { Account } from "./account.ts";
import { startApp } from "./app.ts";
import { focusedName, inspect, looks, reach } from "./look.ts";
import { allowAll } from "./permission.ts";
import { call, say } from "./scripted-model.ts";
import { type ScriptedTool, serveTools } from "./scripted-mcp.ts";
import { startFixture } from "./fixture.ts";
import { eventually, type AppPage } from "./app-page.ts";

const fixture = await startFixture();

/** A server with one tool, `dig`, whose calls run as tasks until `finish` is called. */
async function withQuarry(t: TestContext, account: Account) {
  const { promise, resolve } = Promise.withResolvers<string>();
  const task = { message: "Digging at 3 m" };
  let calls = 0;
  const tool: ScriptedTool = {
    name: "dig",
    task,
    run: () => {
      calls++;
      return promise;
    },
  };
  const server = await serveTools([tool]);
  t.after(() => server.stop());
  await account.connect("quarry", server.url);
  await allowAll(account, "quarry");
  return { task, calls: () => calls, finish: () => resolve("A fossil.") };
}

const dig = (appPage: AppPage) => appPage.toolCall("dig");
const state = (appPage: AppPage) => dig(appPage).getAttribute("data-state");
const longTask = "Running in the background on quarry. It continues if you leave this page.";

async function askToDig(appPage: AppPage): Promise<void> {
  fixture.model.answer(call("dig", { depth: 3 }));
  fixture.model.answer(say("It is a fossil."));
  await appPage.ask("Dig here");
  await dig(appPage).getByText(longTask).waitFor();
}

test("a long call says what it does, outlives a reload and gives its result", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const quarry = await withQuarry(t, account);
  await appPage.open();
  await askToDig(appPage);
  await dig(appPage).getByText("Digging at 3 m").waitFor();
  await appPage.page.reload();
  await dig(appPage).getByText(longTask).waitFor();
  quarry.task.message = "Nearly\u202E there";
  await dig(appPage).getByText("Nearly⟨U+202E⟩ there").waitFor();
  quarry.finish();
  await appPage.answered();
  assert.equal(await state(appPage), "done");
  await appPage.sees("It is a fossil.");
  assert.equal(quarry.calls(), 1);
});

test("a long call is cancelled on its card with the keyboard, and the answer goes on", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await withQuarry(t, account);
  await appPage.open();
  await askToDig(appPage);
  await reach(appPage, "Cancel call", "Shift+Tab");
  await appPage.page.keyboard.press("Enter");
  await appPage.answered();
  assert.equal(await state(appPage), "stopped");
  assert.match(await focusedName(appPage), /^dig/u, "the focus goes on from the card");
  await appPage.sees("It is a fossil.");
  const { calls } = await account.call<{ calls: { tool: string; outcome: string }[] }>("/api/tools/audit");
  assert.deepEqual(
    calls.map(({ tool, outcome }) => [tool, outcome]),
    [["dig", "stopped"]],
  );
});

test("a long call outlives a kill of the program and is not made again", async (t) => {
  const settings = { env: { OPENAI_BASE_URL: fixture.model.baseUrl } };
  const first = await startApp(settings);
  const account = await Account.create(first.url);
  const quarry = await withQuarry(t, account);
  const storageState = { cookies: [], origins: [{ origin: first.url, localStorage: [account.stored] }] };
  const appPage = await fixture.openPage(t, { origin: first.url, storageState });
  await appPage.open();
  await askToDig(appPage);
  await first.stop({ signal: "SIGKILL", keepData: true });
  const second = await startApp({ ...settings, port: first.port, data: first.data });
  t.after(() => second.stop());
  await appPage.page.reload();
  await dig(appPage).getByText(longTask).waitFor();
  quarry.finish();
  await appPage.answered();
  assert.equal(await state(appPage), "done");
  await appPage.sees("It is a fossil.");
  assert.equal(quarry.calls(), 1);
});

/** Returns more tools than a model receives at once, with one that is distinct. */
function manyTools(): ScriptedTool[] {
  const widgets = Array.from({ length: 1000 }, (_, number) => ({
    name: `widget_${number}`,
    description: "Turns one of many widgets, as far as it can be turned, and says how far that was.",
  }));
  return [...widgets, { name: "open_ticket", description: "Opens a ticket.", run: () => "Ticket 7" }];
}

async function searchForTicket(t: TestContext, appPage: AppPage, account: Account): Promise<void> {
  const server = await serveTools(manyTools());
  t.after(() => server.stop());
  await account.connect("factory", server.url);
  await allowAll(account, "factory");
  fixture.model.answer(call("search_tools", { query: "ticket" }));
  fixture.model.answer(call("open_ticket", {}));
  fixture.model.answer(say("It is ticket 7."));
  await appPage.open();
  await appPage.ask("Report that the door is broken");
  await appPage.answered();
}

test("of many tools a model finds the one that it needs, and the page says that it searched", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await searchForTicket(t, appPage, account);
  const offered = fixture.model.requests.map(({ tools }) => tools?.map((tool) => tool.function.name));
  const own = ["search_tools", "get_tool_details"];
  assert.deepEqual(offered, [own, [...own, "open_ticket"], [...own, "open_ticket"]]);
  const search = appPage.toolCall("search_tools");
  await search.getByText("Built in", { exact: true }).waitFor();
  assert.equal(await appPage.toolCall("open_ticket").getAttribute("data-state"), "done");
  await search.getByRole("button").click();
  await search.getByText(/^1 of 1001 tools fit/u).waitFor();
  await appPage.page.reload();
  await search.getByText("Built in", { exact: true }).waitFor();
  await eventually(async () => assert.equal(await appPage.toolCall("search_tools").count(), 1));
});

for (const [name, look] of looks) {
  test(`long calls and searches at ${name}`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, look);
    const quarry = await withQuarry(t, account);
    await appPage.open();
    await askToDig(appPage);
    await dig(appPage).getByText("Digging at 3 m").waitFor();
    await inspect(appPage, "task-running", look);
    quarry.finish();
    await appPage.answered();
    await searchForTicket(t, appPage, account);
    await inspect(appPage, "task-search", look);
  });
}
