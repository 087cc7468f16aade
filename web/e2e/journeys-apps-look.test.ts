import assert from "node:assert/strict";
import { after, test } from "node:test";
import { inspect, looks } from "./look.ts";
import { startPeer } from "./peer.ts";
import { allowAll } from "./permission.ts";
import { call, say } from "./scripted-model.ts";
import { openStage } from "./stage.ts";
import { eventually, type Visitor } from "./visitor.ts";

const stage = await openStage();
const [clock, budget] = await Promise.all([
  startPeer("mcp-server-basic-vanillajs", [], { PORT: "{port}" }),
  startPeer("mcp-budget-allocator-server", [], { PORT: "{port}" }),
]);
after(() => Promise.all([clock.stop(), budget.stop()]));

/** The app of a call, inside the sandbox. */
const inside = (visitor: Visitor, tool: string) =>
  visitor.toolCall(tool).frameLocator("iframe").frameLocator("iframe");

test("a tool that is run by hand shows its app, and each run its own", async (t) => {
  const { account, visitor } = await stage.member(t);
  await account.connect("clock", `http://127.0.0.1:${clock.port}/mcp`);
  await visitor.open("/?tab=tools");
  await visitor.toolCard("get-time").getByRole("button", { name: "Use Tool" }).click();
  const run = visitor.sheet.getByRole("button", { name: "Run", exact: true });
  await run.click();
  const shown = visitor.sheet.frameLocator("iframe").frameLocator("iframe").locator("#server-time");
  await eventually(async () => assert.match((await shown.textContent()) ?? "", /^\d{4}-/u));
  const first = await shown.textContent();
  await run.click();
  await eventually(async () => {
    const now = (await shown.textContent()) ?? "";
    assert.match(now, /^\d{4}-/u);
    assert.notEqual(now, first);
  });
  await visitor.sheet.getByRole("button", { name: "Show result" }).click();
  await visitor.sheet.getByText((await shown.textContent()) ?? "", { exact: true }).waitFor();
  await visitor.sheet.getByText("Structured result", { exact: false }).click();
  await visitor.sheet.getByText(/"time":/u).waitFor();
  await visitor.sheet.getByRole("button", { name: "Hide result" }).click();
  await visitor.sheet.getByText(/"time":/u).waitFor({ state: "hidden" });
});

for (const [name, look] of looks) {
  test(`an app and what it asks look right: ${name}`, async (t) => {
    const { account, visitor } = await stage.member(t, look);
    await account.connect("clock", `http://127.0.0.1:${clock.port}/mcp`);
    await account.connect("money", `http://127.0.0.1:${budget.port}/mcp`);
    await allowAll(account, "money");
    await visitor.open();
    stage.model.answer(call("get-budget-data", {}));
    stage.model.answer(say("Here is your budget."));
    await visitor.ask("Show me my budget");
    await visitor.answered();
    await inside(visitor, "get-budget-data").getByText("Marketing").first().waitFor();
    await inspect(visitor, "app-budget", look);
    stage.model.answer(call("get-time", {}));
    stage.model.answer(say("It is late."));
    await visitor.ask("What time is it?");
    await visitor.button("Allow once").click();
    await visitor.answers.getByText("It is late.").waitFor();
    await inside(visitor, "get-time").getByRole("button", { name: "Get Server Time" }).click();
    await visitor.page.getByRole("region", { name: "Allow clock to run get-time?" }).waitFor();
    await inspect(visitor, "app-asks", look);
  });
}
