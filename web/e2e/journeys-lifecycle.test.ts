import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Locator } from "playwright-core";
import type { Account } from "./account.ts";
import { StatefulServer } from "./stateful-server.ts";
import { inspect, looks } from "./look.ts";
import { allowAll } from "./permission.ts";
import { call, say } from "./scripted-model.ts";
import { startFixture } from "./fixture.ts";
import { eventually, type AppPage } from "./app-page.ts";

const fixture = await startFixture();
const search = { name: "search", description: "Finds.", inputSchema: { type: "object" } };
const send = { name: "send", description: "Sends a letter.", inputSchema: { type: "object" } };

interface Scene {
  account: Account;
  appPage: AppPage;
  server: StatefulServer;
}

/** Opens the connections of a user who has connected a stateful server. */
async function scene(t: TestContext, options = {}): Promise<Scene> {
  const server = await StatefulServer.start([search, send]);
  t.after(() => server.stop());
  const { account, appPage } = await fixture.openSignedInPage(t, options);
  await account.connect("post", server.url);
  await appPage.open("/?tab=servers");
  await appPage.connection("post").getByText("connected", { exact: true }).waitFor();
  await eventually(() => assert.ok(server.listeners > 0));
  return { account, appPage, server };
}

async function openDetails(appPage: AppPage, name: string): Promise<Locator> {
  await appPage.connection(name).getByRole("button", { name, exact: true }).click();
  await appPage.sheet.getByRole("heading", { name, exact: true }).waitFor();
  return appPage.sheet;
}

function button(sheet: Locator, name: string): Locator {
  return sheet.getByRole("button", { name, exact: true });
}

test("a connection tells who its server is, and can be given another name", async (t) => {
  const { appPage } = await scene(t);
  const sheet = await openDetails(appPage, "post");
  for (const text of ["stateful 2.1.0", "2025-11-25 · Session-based", "streamable HTTP", "None"])
    await sheet.getByText(text, { exact: true }).waitFor();
  await sheet.getByText("Ask before you send anything.").waitFor();
  await sheet.getByText(/^2 of 2 enabled\. Their definitions add about \d+ tokens/u).waitFor();
  await sheet.getByLabel("Server Name", { exact: true }).fill("letters");
  await button(sheet, "Rename").click();
  await sheet.getByRole("heading", { name: "letters", exact: true }).waitFor();
  await appPage.page.keyboard.press("Escape");
  await appPage.connection("letters").waitFor();
  await appPage.page.reload();
  await appPage.connection("letters").getByText("connected", { exact: true }).waitFor();
  assert.equal(await appPage.connection("post").count(), 0);
});

test("a tool that is switched off is offered nowhere", async (t) => {
  const { account, appPage, server } = await scene(t);
  const sheet = await openDetails(appPage, "post");
  await sheet.getByLabel(/^send/u).uncheck();
  await sheet.getByText(/^1 of 2 enabled/u).waitFor();
  await appPage.page.keyboard.press("Escape");
  await appPage.page.getByRole("tab", { name: "Tools (1)", exact: true }).waitFor();
  const available = appPage.card("Available Tools");
  await available.getByRole("heading", { name: "search", exact: true }).waitFor();
  assert.equal(await available.getByRole("heading", { name: "send", exact: true }).count(), 0);
  await eventually(async () => {
    const { connections } = await account.call<{ connections: { disabledTools: string[] }[] }>(
      "/api/connections",
    );
    assert.deepEqual(connections[0]?.disabledTools, ["send"]);
  });
  server.acts["send"] = () => ({ content: [] });
  await assert.rejects(
    account.call("/api/tools/run", { serverName: "post", name: "send", arguments: {} }),
    "the server refuses it, too",
  );
});

test("what happens to a server is seen at once, and what it listed last stays known", async (t) => {
  const { appPage, server } = await scene(t);
  const available = appPage.card("Available Tools");
  await eventually(async () => {
    // The stream of the connection may be younger than the one with which the server was tried out.
    server.announce([search, send, { ...send, name: "post_scriptum" }]);
    await available.getByRole("heading", { name: "post_scriptum", exact: true }).waitFor({ timeout: 1_000 });
  });

  server.lists = false;
  server.announce([search]);
  const row = appPage.connection("post");
  await row.getByText("error", { exact: true }).waitFor();
  await row.getByText(/^could not be asked for its tools again: it answered with an error/u).waitFor();
  await row.getByText(/^3 tools were available at /u).waitFor();
  assert.equal(await available.getByRole("heading", { name: "search", exact: true }).count(), 0);

  server.lists = true;
  await button(row, "Reconnect post").click();
  await row.getByText("connected", { exact: true }).waitFor();
  await available.getByRole("heading", { name: "search", exact: true }).waitFor();
  const sheet = await openDetails(appPage, "post");
  await sheet.getByText(/could not be asked for its tools again/u).waitFor();
  server.tools = [search, send];
  await button(sheet, "Refresh tools").click();
  await sheet.getByText(/^2 of 2 enabled/u).waitFor();
  await button(sheet, "Reconnect").click();
  await sheet.getByText("connected", { exact: true }).waitFor();
});

test("a key is added, replaced and removed, and never shown again", async (t) => {
  const { appPage, server } = await scene(t);
  const sheet = await openDetails(appPage, "post");
  await button(sheet, "Add API key").click();
  await sheet.getByLabel("API key", { exact: true }).fill("s3cret-1");
  await button(sheet, "Save").click();
  await button(sheet, "Replace Authorization").waitFor();
  await eventually(() => assert.equal(server.headers.authorization, "Bearer s3cret-1"));
  await button(sheet, "Add header").click();
  await sheet.getByLabel("Header name", { exact: true }).fill("X-Team");
  await sheet.getByLabel("Header value", { exact: true }).fill("s3cret-2");
  await button(sheet, "Save").click();
  await button(sheet, "Replace X-Team").waitFor();
  await button(sheet, "Replace Authorization").click();
  await sheet.getByLabel("API key", { exact: true }).fill("s3cret-3");
  await button(sheet, "Save").click();
  await eventually(() => {
    assert.equal(server.headers.authorization, "Bearer s3cret-3");
    assert.equal(server.headers["x-team"], "s3cret-2");
  });
  await button(sheet, "Remove header Authorization").click();
  await button(sheet, "Add API key").waitFor();
  await eventually(() => {
    assert.equal(server.headers.authorization, undefined);
    assert.equal(server.headers["x-team"], "s3cret-2");
  });
  assert.ok(!(await appPage.page.content()).includes("s3cret"));
});

test("a slow call shows how far it is, and a result that was not announced says so", async (t) => {
  const { account, appPage, server } = await scene(t);
  const held = Promise.withResolvers<void>();
  const counted = Promise.withResolvers<void>();
  server.acts["send"] = async (report) => {
    report({ progress: 1, message: "Looking for a stamp" });
    await held.promise;
    report({ progress: 1, total: 4, message: "Licking it" });
    await counted.promise;
    return { content: [{ type: "text", text: "sent" }], structuredContent: { sheets: "two" } };
  };
  const outputSchema = { type: "object", properties: { sheets: { type: "integer" } } };
  await eventually(async () => {
    server.announce([search, { ...send, outputSchema }]);
    const { connections } = await account.call<{ connections: { tools: { outputSchema?: object }[] }[] }>(
      "/api/connections",
    );
    assert.ok(connections[0]?.tools[1]?.outputSchema);
  });
  await allowAll(account, "post");
  await appPage.openTab("Chat");
  fixture.model.answer(call("send", {}));
  fixture.model.answer(say("It is sent."));
  await appPage.ask("Send it");
  const card = appPage.toolCall("send");
  await card.getByText("Looking for a stamp", { exact: true }).waitFor();
  const bar = card.getByRole("progressbar");
  assert.equal(await bar.getAttribute("aria-valuenow"), null, "nobody knows how far it is");
  held.resolve();
  await card.getByText("Licking it", { exact: true }).waitFor();
  assert.equal(await bar.getAttribute("aria-valuenow"), "25");
  counted.resolve();
  await appPage.answered();
  await card.getByRole("button", { expanded: false }).click();
  const words = "The result doesn't match the tool's output schema: result.sheets: must be of type integer";
  await card.getByText(words, { exact: true }).waitFor();
});

for (const [name, look] of looks) {
  test(`the details of a connection look right: ${name}`, async (t) => {
    const { appPage, server } = await scene(t, look);
    const sheet = await openDetails(appPage, "post");
    await sheet.getByText("stateful 2.1.0", { exact: true }).waitFor();
    await sheet.getByText("Request headers", { exact: true }).waitFor();
    await inspect(appPage, "connection", look);
    await button(sheet, "Add header").click();
    await sheet.getByLabel("Header value", { exact: true }).scrollIntoViewIfNeeded();
    await inspect(appPage, "connection-header", look);
    server.down = true;
    await button(sheet, "Reconnect").click();
    await sheet.getByText("error", { exact: true }).waitFor();
    await sheet.getByText("error", { exact: true }).scrollIntoViewIfNeeded();
    await inspect(appPage, "connection-error", look);
    await appPage.page.keyboard.press("Escape");
    await button(appPage.connection("post"), "Reconnect post").waitFor();
    await inspect(appPage, "connection-row-error", look);
  });
}
