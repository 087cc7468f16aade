import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Locator } from "playwright-core";
import type { z } from "zod";
import { eventually, type AppPage } from "./app-page.ts";
import { startFixture } from "./fixture.ts";
import { focusedName, inspect, looks } from "./look.ts";
import { serveTools } from "./scripted-mcp.ts";
import { serverList } from "./registry-description.ts";
import { type Entry, ScriptedRegistry } from "./scripted-registry.ts";

const registry = await ScriptedRegistry.start();
const fixture = await startFixture({ CHAT_MCP_REGISTRY: registry.url });
const withoutRegistry = await startFixture({ CHAT_MCP_REGISTRY: "off" });
const weather = await serveTools([{ name: "forecast", description: "Forecasts the weather." }]);
const notes = await serveTools([{ name: "find_note" }], {}, [], { authorization: "Bearer s3cret" });
after(() => {
  registry.stop();
  weather.stop();
  notes.stop();
});

const entries: Entry[] = [
  {
    name: "com.example/weather",
    title: "Weather",
    description: "Forecasts for any place.",
    websiteUrl: "https://example.com/weather",
    remotes: [{ type: "streamable-http", url: weather.url }],
  },
  {
    name: "io.github.acme/notes",
    title: "Notes",
    description: "Finds notes of your team.",
    repository: { url: "https://github.com/acme/notes", source: "github" },
    remotes: [
      {
        type: "streamable-http",
        url: notes.url.replace("/mcp", "/{path}"),
        variables: { path: { description: "Path of your team", isRequired: true, default: "mcp" } },
        headers: [
          {
            name: "Authorization",
            value: "Bearer {token}",
            isRequired: true,
            isSecret: true,
            variables: { token: { description: "Token of your account", isRequired: true, isSecret: true } },
          },
        ],
      },
    ],
  },
  {
    name: "com.example/tickets",
    description: "<b>Tickets</b>\u202e and more.",
    status: "deprecated",
    websiteUrl: "javascript:alert(1)",
    remotes: [{ type: "sse", url: "https://tickets.hosting.test/sse" }],
  },
  { name: "com.example/local-only" },
  {
    name: "com.example/deleted",
    status: "deleted",
    remotes: [{ type: "sse", url: "https://gone.example.com/sse" }],
  },
];
const many = Array.from({ length: 120 }, (_, n) => ({
  name: `com.example/sensor-${n}`,
  remotes: [{ type: "streamable-http", url: `https://sensor-${n}.example.com/mcp` }],
}));
registry.entries = [...entries, ...many];

const sheet = ({ page }: AppPage) => page.getByRole("dialog", { name: "Browse servers" });
const row = (appPage: AppPage, name: string) =>
  sheet(appPage)
    .getByRole("listitem")
    .filter({ has: appPage.page.getByRole("heading", { name, exact: true }) });

async function browse(appPage: AppPage, search: string): Promise<Locator> {
  await appPage.button(/^Browse servers/u).click();
  const field = sheet(appPage).getByRole("searchbox");
  await field.waitFor();
  await appPage.page.keyboard.type(search);
  return field;
}

test("the scripted registry answers as the official one describes it", async () => {
  const pages: z.infer<typeof serverList>[] = [];
  let cursor: string | null | undefined = "0";
  while (typeof cursor === "string") {
    const response = await fetch(`${registry.url}/v0.1/servers?version=latest&limit=100&cursor=${cursor}`);
    assert.match(response.headers.get("content-type") ?? "", /^application\/json/u);
    const page = serverList.parse(await response.json());
    assert.equal(page.metadata?.count, page.servers.length);
    pages.push(page);
    cursor = page.metadata.nextCursor;
  }
  assert.equal(pages.length, 2);
  assert.equal(pages.flatMap(({ servers }) => servers).length, registry.entries.length);
});

test("a public server is found and added with one click from a new chat", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  const field = await browse(appPage, "weather");
  await sheet(appPage).getByText("1 server from 127.0.0.1", { exact: true }).waitFor();
  assert.ok(await field.evaluate((one) => one === document.activeElement), "the field keeps the focus");
  await row(appPage, "Weather").getByText("example.com, verified domain", { exact: true }).waitFor();
  await row(appPage, "Weather")
    .getByText(/^Runs on 127\.0\.0\.1:\d+, which isn't on/u)
    .waitFor();
  await appPage.button("Add Weather").click();
  await appPage.toast("Connection Successful", "Connected to Weather with 1 tools");
  await sheet(appPage).waitFor({ state: "detached" });
  await appPage.sees("1 tool from 1 server is ready.");
  await eventually(async () => assert.equal(await focusedName(appPage), "Message"));

  await appPage.openTab("MCP Servers");
  await appPage.connection("Weather").getByText(weather.url, { exact: true }).waitFor();
  await browse(appPage, "weather");
  await row(appPage, "Weather").getByText("Connected", { exact: true }).waitFor();
  assert.equal(await appPage.button("Add Weather").count(), 0);
  await appPage.page.keyboard.press("Escape");
  await sheet(appPage).waitFor({ state: "detached" });
  await eventually(async () => assert.equal(await focusedName(appPage), "Browse servers"));
});

test("a server that needs a key is asked for it, and the key goes nowhere else", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await appPage.open("/?tab=servers");
  await browse(appPage, "notes");
  await row(appPage, "Notes").getByText("acme, verified by GitHub", { exact: true }).waitFor();
  await row(appPage, "Notes")
    .getByText("Asks for: path and an API key (Authorization)", { exact: true })
    .waitFor();
  await appPage.button("Add Notes").click();
  assert.equal(await appPage.field("path").inputValue(), "mcp");
  assert.equal(await appPage.field("Authorization").getAttribute("type"), "password");
  await appPage.field("Authorization").fill("s3cret");
  await appPage.page.keyboard.press("Enter");
  await appPage.toast("Connection Successful", "Connected to Notes with 1 tools");
  await appPage.connection("Notes").getByText(notes.url, { exact: true }).waitFor();
  const stored = await appPage.page.evaluate(() => location.href + JSON.stringify({ ...localStorage }));
  assert.doesNotMatch(stored, /s3cret/u);
  const [{ id } = { id: "" }] = await account.call<{ id: string }[]>("/rest/v1/mcp_servers?select=id");
  const { headers } = await account.call<{ headers: string[] }>(`/api/connections/${id}`);
  assert.deepEqual(headers, ["Authorization"]);
});

test("the palette opens the list, which shows what is wrong with an entry", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open("/?tab=tools");
  await appPage.tab("Tools").waitFor();
  await appPage.page.keyboard.press("Control+k");
  await appPage.page.keyboard.type("browse");
  await appPage.page.getByRole("option", { name: "Browse servers" }).click();
  await sheet(appPage).getByRole("searchbox").fill("example/");
  const tickets = row(appPage, "com.example/tickets");
  await tickets.getByText("<b>Tickets</b>⟨U+202E⟩ and more.", { exact: true }).waitFor();
  await tickets.getByText("Deprecated", { exact: true }).waitFor();
  assert.equal(await tickets.getByRole("link").count(), 0);
  assert.equal(await row(appPage, "com.example/local-only").count(), 0);
  assert.equal(await row(appPage, "com.example/deleted").count(), 0);
});

test("further servers are shown on demand", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open("/?tab=servers");
  await browse(appPage, "sensor");
  await sheet(appPage).getByText("The first 100 servers from 127.0.0.1", { exact: true }).waitFor();
  await appPage.button("Show more servers").click();
  await sheet(appPage).getByText("120 servers from 127.0.0.1", { exact: true }).waitFor();
  await row(appPage, "com.example/sensor-119").waitFor();
  assert.equal(await appPage.button("Show more servers").count(), 0);
  await sheet(appPage).getByRole("searchbox").fill("nobody has this");
  await sheet(appPage).getByText("No server matches “nobody has this”.", { exact: true }).waitFor();
});

test("while the registry cannot be reached that is said, and it can be tried again", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open("/?tab=servers");
  registry.isDown = true;
  t.after(() => (registry.isDown = false));
  // The answer to a search that was made before would still be known.
  await browse(appPage, "sensor-11");
  await appPage.sees("The MCP registry can't be reached right now.");
  registry.isDown = false;
  await appPage.button("Try again").click();
  await row(appPage, "com.example/sensor-11").waitFor();
});

test("without a registry nothing leads to it", async (t) => {
  const { account, appPage } = await withoutRegistry.openSignedInPage(t);
  await appPage.open();
  await appPage.button(/^Add a server/u).waitFor();
  assert.equal(await appPage.button(/^Browse servers/u).count(), 0);
  await appPage.openTab("MCP Servers");
  await appPage.field("Server Name").waitFor();
  assert.equal(await appPage.button(/^Browse servers/u).count(), 0);
  await appPage.page.keyboard.press("Control+k");
  const palette = appPage.page.getByRole("dialog", { name: "Command palette" });
  await palette.getByRole("option", { name: "Open settings", exact: true }).waitFor();
  assert.equal(await palette.getByRole("option", { name: "Browse servers" }).count(), 0);
  await assert.rejects(account.call("/api/registry/servers"), /404/u);
});

for (const [name, look] of looks) {
  test(`browsing is free of accessibility faults at ${name}, and fits`, async (t) => {
    const { appPage } = await fixture.openSignedInPage(t, look);
    await appPage.open();
    await appPage.button(/^Browse servers/u).waitFor();
    await inspect(appPage, "registry-card", look);
    await browse(appPage, "example/");
    await row(appPage, "com.example/tickets").waitFor();
    await inspect(appPage, "registry", look);
    await sheet(appPage).getByRole("searchbox").fill("notes");
    await appPage.button("Add Notes").click();
    await appPage.field("Authorization").waitFor();
    await inspect(appPage, "registry-form", look);
  });
}
