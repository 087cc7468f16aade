import assert from "node:assert/strict";
import { after, test } from "node:test";
import { inspect, looks } from "./look.ts";
import { startPeer } from "./peer.ts";
import { allowAll } from "./permission.ts";
import { call, say } from "./scripted-model.ts";
import { startFixture } from "./fixture.ts";
import { eventually, type AppPage } from "./app-page.ts";

const fixture = await startFixture();
const [clock, budget] = await Promise.all([
  startPeer("mcp-server-basic-vanillajs", [], { PORT: "{port}" }),
  startPeer("mcp-budget-allocator-server", [], { PORT: "{port}" }),
]);
after(() => Promise.all([clock.stop(), budget.stop()]));

/** The app of a call, inside the sandbox. */
const inside = (appPage: AppPage, tool: string) =>
  appPage.toolCall(tool).frameLocator("iframe").frameLocator("iframe");

test("a tool that is run by hand shows its app, and each run its own", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connect("clock", `http://127.0.0.1:${clock.port}/mcp`);
  await appPage.open("/?tab=tools");
  await appPage.toolCard("get-time").getByRole("button", { name: "Use Tool" }).click();
  const run = appPage.sheet.getByRole("button", { name: "Run", exact: true });
  await run.click();
  const shown = appPage.sheet.frameLocator("iframe").frameLocator("iframe").locator("#server-time");
  await eventually(async () => assert.match((await shown.textContent()) ?? "", /^\d{4}-/u));
  const first = await shown.textContent();
  await run.click();
  await eventually(async () => {
    const now = (await shown.textContent()) ?? "";
    assert.match(now, /^\d{4}-/u);
    assert.notEqual(now, first);
  });
  await appPage.sheet.getByRole("button", { name: "Show result" }).click();
  await appPage.sheet.getByText((await shown.textContent()) ?? "", { exact: true }).waitFor();
  await appPage.sheet.getByText("Structured result", { exact: false }).click();
  await appPage.sheet.getByText(/^time: /u).waitFor();
  await appPage.sheet.getByRole("button", { name: "Hide result" }).click();
  await appPage.sheet.getByText(/^time: /u).waitFor({ state: "hidden" });
});

for (const [name, look] of looks) {
  test(`an app and what it asks look right: ${name}`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, look);
    await account.connect("clock", `http://127.0.0.1:${clock.port}/mcp`);
    await account.connect("money", `http://127.0.0.1:${budget.port}/mcp`);
    await allowAll(account, "money");
    await appPage.open();
    fixture.model.answer(call("get-budget-data", {}));
    fixture.model.answer(say("Here is your budget."));
    await appPage.ask("Show me my budget");
    await appPage.answered();
    await inside(appPage, "get-budget-data").getByText("Marketing").first().waitFor();
    await inspect(appPage, "app-budget", look);
    fixture.model.answer(call("get-time", {}));
    fixture.model.answer(say("It is late."));
    await appPage.ask("What time is it?");
    await appPage.button("Allow once").click();
    await appPage.answers.getByText("It is late.").waitFor();
    await inside(appPage, "get-time").getByRole("button", { name: "Get Server Time" }).click();
    await appPage.page.getByRole("region", { name: "Allow clock to run get-time?" }).waitFor();
    await inspect(appPage, "app-asks", look);
  });
}
