import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Route } from "playwright-core";
import { deadAddress, serveTools, serveWebSite } from "./scripted-mcp.ts";
import { startFixture } from "./fixture.ts";
import { eventually, type AppPage } from "./app-page.ts";

const driveTools = ["google_drive_list_files", "google_drive_read_file", "google_drive_create_file"];

const fixture = await startFixture();
const strict = await startFixture({ CHAT_FALLBACK_TOOLS: "off" });
const shop = await serveWebSite();
const bare = await serveTools([]);
const dead = await deadAddress();
after(() => {
  shop.stop();
  bare.stop();
});

async function onServers(appPage: AppPage): Promise<void> {
  await appPage.open("/?tab=servers");
  await appPage.field("Server Name").waitFor();
}

test("without connections, the cards say so and how to change it", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await onServers(appPage);
  await appPage.card("Active Connections").getByText("No active connections", { exact: true }).waitFor();
  await appPage
    .card("Available Tools")
    .getByText("Connect to an MCP server to see available tools", { exact: true })
    .waitFor();
  assert.equal(await appPage.field("Server Name").getAttribute("placeholder"), "pipedream-tools");
  assert.equal(await appPage.field("MCP Server URL").getAttribute("placeholder"), "ws:// or http://");
});

test("name and URL are both required", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await onServers(appPage);
  const connect = appPage.button("Connect to MCP Server");
  assert.ok(await connect.isDisabled());
  await appPage.field("Server Name").fill("toolbox");
  assert.ok(await connect.isDisabled(), "without a URL");
  await appPage.field("Server Name").press("Enter");
  await appPage.toast("Missing Information", "Please provide both server name and URL");
  await appPage.field("Server Name").fill("");
  await appPage.field("MCP Server URL").fill("http://localhost/mcp");
  assert.ok(await connect.isDisabled(), "without a name");
  await appPage.field("Server Name").fill("toolbox");
  assert.ok(await connect.isEnabled());
  await appPage.field("MCP Server URL").fill("localhost:3000/mcp");
  await connect.click();
  await appPage.toast("Connection Failed", /^Enter a URL that starts with http:/u);
  assert.equal(await appPage.field("MCP Server URL").inputValue(), "localhost:3000/mcp");
});

test("the button says Connecting... and waits", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  const held = Promise.withResolvers<void>();
  await appPage.page.route("**/functions/v1/mcp-proxy", async (route) => {
    await held.promise;
    await route.continue();
  });
  await onServers(appPage);
  await appPage.connect("toolbox", `${fixture.app.url}/mcp/toolbox`);
  const busy = appPage.button("Connecting...");
  await busy.waitFor();
  assert.ok(await busy.isDisabled());
  held.resolve();
  await appPage.button("Connect to MCP Server").waitFor();
});

test("key and headers fold away, empty, when the connection is made", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await onServers(appPage);
  const fold = appPage.page.locator("summary", { hasText: "API key and headers" });
  await fold.click();
  await appPage.field("Server Name").fill("toolbox");
  await appPage.field("MCP Server URL").fill(`${fixture.app.url}/mcp/toolbox`);
  await appPage.button("Add header").click();
  await appPage.field("Header name").fill("X-Team");
  await appPage.field("API key").fill("not looked at");
  await appPage.field("API key").press("Enter");
  await appPage.connection("toolbox").waitFor();
  await appPage.field("API key").waitFor({ state: "hidden" });
  assert.ok(await fold.evaluate((one) => one === document.activeElement), "the focus does not go with them");
  await fold.click();
  assert.equal(await appPage.field("API key").inputValue(), "");
  assert.equal(await appPage.field("Header name").count(), 0);
});

test("a connection shows its name, URL, state and tools, is counted, and is stored", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const url = `${fixture.app.url}/mcp/toolbox`;
  await onServers(appPage);
  await appPage.connect("my toolbox", url);
  await appPage.toast("Connection Successful", "Connected to my toolbox with 5 tools");

  const row = appPage.connection("my toolbox");
  await row.getByText(url, { exact: true }).waitFor();
  await row.getByText("connected", { exact: true }).waitFor();
  assert.equal(await row.locator("[data-tone]").getAttribute("data-tone"), "ok");
  await appPage.card("Active Connections").getByText("1", { exact: true }).waitFor();

  const tools = appPage.card("Available Tools");
  await tools.getByText("5", { exact: true }).waitFor();
  const tool = tools.getByRole("listitem").filter({ hasText: "calculate" });
  assert.match((await tool.textContent()) ?? "", /my toolbox.*Computes an arithmetic expression/u);
  await appPage.page.getByRole("tab", { name: "Tools (5)", exact: true }).waitFor();

  const rows = await account.call<{ tools: unknown[] }[]>(
    "/rest/v1/mcp_servers?select=user_id,name,url,status,tools",
  );
  assert.deepEqual(
    rows.map(({ tools: list, ...rest }) => ({ ...rest, tools: list.length })),
    [{ user_id: account.session.user.id, name: "my toolbox", url, status: "connected", tools: 5 }],
  );

  await appPage.page.reload();
  await appPage.connection("my toolbox").getByText("connected", { exact: true }).waitFor();
});

test("the toolbox that comes with the product is one click away", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await onServers(appPage);
  await appPage.button("Use the toolbox").click();
  await appPage.toast("Connection Successful", "Connected to toolbox with 5 tools");
});

for (const [what, url, reason] of [
  ["that refuses the connection", dead, /refused the connection/u],
  ["that is a web site", shop.url, /HTML/iu],
  ["without tools", bare.url, /no tools/u],
] as const) {
  test(`the Drive tools stand in for a server ${what}, and the page says why`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t);
    const answer = await account.call<{ success: boolean; data: { name: string }[]; error: string }>(
      "/functions/v1/mcp-proxy",
      { url },
    );
    assert.deepEqual(Object.keys(answer).toSorted(), ["data", "error", "success"]);
    assert.equal(answer.success, false);
    assert.match(answer.error, reason);
    assert.deepEqual(answer.data.map(({ name }) => name).toSorted(), driveTools.toSorted());

    await onServers(appPage);
    await appPage.connect("broken", url);
    const why = `The server provided no tools (${answer.error.replace(/\.$/u, "")}). The built-in Google Drive tools are used instead.`;
    // One toast says both, and goes by itself.
    await Promise.all([
      appPage.toast("Connection Successful", "Connected to broken with 3 tools"),
      appPage.toast("Connection Successful", why),
    ]);
    await eventually(async () => {
      const names = await appPage
        .card("Available Tools")
        .getByRole("heading", { level: 3 })
        .allTextContents();
      assert.deepEqual(names.toSorted(), driveTools.toSorted());
    });
    const row = appPage.connection("broken");
    await row.getByText(/are used instead/u).waitFor();
    // Its state changes while the server is tried again, so the word and the colour are read together.
    await eventually(async () => {
      const [state, tone] = await row.evaluate((item) => [
        [...item.querySelectorAll("*")].find(({ textContent }) => /^(?:error|connected)$/u.test(textContent))
          ?.textContent,
        item.querySelector("[data-tone]")?.getAttribute("data-tone"),
      ]);
      assert.ok(state, "it is tried at this moment");
      assert.equal(tone, state === "error" ? "err" : "ok");
    });
  });

  test(`with the Drive tools off, a server ${what} is not connected`, async (t) => {
    const { appPage } = await strict.openSignedInPage(t);
    await onServers(appPage);
    await appPage.connect("broken", url);
    await appPage.toast("Connection Failed", reason);
    await appPage.sees("No active connections");
    assert.equal(await appPage.field("MCP Server URL").inputValue(), url, "what was typed is still there");
  });
}

test("the Drive tools stand in when the proxy cannot be asked, is not ok or names no tools, but what it names is used", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  const cases: [string, (route: Route) => Promise<void>, string[]][] = [
    ["away", (route) => route.abort(), driveTools],
    ["not ok", (route) => route.fulfill({ status: 500, json: { error: "down" } }), driveTools],
    ["bare", (route) => route.fulfill({ json: { success: true, data: [], error: null } }), driveTools],
    ["refused", (route) => route.fulfill({ json: { success: false, data: null, error: "no" } }), driveTools],
    [
      "half",
      (route) => route.fulfill({ json: { success: false, data: [{ name: "spare" }], error: "half" } }),
      ["spare"],
    ],
  ];
  await onServers(appPage);
  for (const [name, answer, tools] of cases) {
    await appPage.page.route("**/functions/v1/mcp-proxy", answer, { times: 1 });
    const insert = appPage.page.waitForRequest(
      (request) => request.method() === "POST" && request.url().includes("/rest/v1/mcp_servers"),
    );
    await appPage.connect(name, "http://localhost:1/mcp");
    const { tools: stored } = (await insert).postDataJSON() as { tools: { name: string }[] };
    assert.deepEqual(
      stored.map((tool) => tool.name),
      tools,
    );
    await appPage.toast("Connection Successful", `Connected to ${name} with ${tools.length} tools`);
    await appPage.connection(name).waitFor();
  }
});

test("a connection that fails tells the error's words, or that it failed", async (t) => {
  const { account, appPage } = await strict.openSignedInPage(t);
  await account.connectToolbox();
  await onServers(appPage);
  await appPage.connection("toolbox").waitFor();
  await appPage.page.route("**/functions/v1/mcp-proxy", (route) =>
    route.fulfill({ json: { success: false, data: [], error: null } }),
  );
  await appPage.connect("silent", "http://localhost:1/mcp");
  await appPage.toast("Connection Failed", "Failed to connect to MCP server");
  await appPage.page.unroute("**/functions/v1/mcp-proxy");
  await appPage.page.route("**/rest/v1/mcp_servers*", (route) =>
    route.request().method() === "POST"
      ? route.fulfill({ status: 400, json: { code: "XX000", message: "no room left" } })
      : route.continue(),
  );
  await appPage.connect("second", `${strict.app.url}/mcp/toolbox`);
  await appPage.toast("Connection Failed", "no room left");
  assert.equal(await appPage.connection("second").count(), 0);
});

test("a connection is removed, and a removal that fails is told", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connectToolbox();
  await onServers(appPage);
  await appPage.connection("toolbox").waitFor();
  await appPage.page.route("**/rest/v1/mcp_servers*", (route) =>
    route.request().method() === "DELETE"
      ? route.fulfill({ status: 503, json: { code: "XX000", message: "down" } })
      : route.continue(),
  );
  await appPage.button("Remove toolbox").click();
  await appPage.page.getByRole("dialog", { name: /^Remove toolbox\?/u }).waitFor();
  await appPage.page.keyboard.press("Escape");
  await appPage.connection("toolbox").waitFor();
  assert.equal((await account.call<unknown[]>("/rest/v1/mcp_servers?select=name")).length, 1);
  await appPage.removeConnection("toolbox");
  await appPage.toast("Error", "Failed to remove connection");
  await appPage.connection("toolbox").waitFor();

  await appPage.page.unroute("**/rest/v1/mcp_servers*");
  await appPage.removeConnection("toolbox");
  await appPage.toast("Connection Removed", "Removed connection to toolbox");
  await appPage.sees("No active connections");
  assert.deepEqual(await account.call("/rest/v1/mcp_servers?select=name"), []);
});
