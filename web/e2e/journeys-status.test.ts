import assert from "node:assert/strict";
import { test } from "node:test";
import type { Account } from "./account.ts";
import { deadAddress } from "./scripted-mcp.ts";
import { startFixture } from "./fixture.ts";
import type { AppPage } from "./app-page.ts";

const fixture = await startFixture();
const dead = await deadAddress();

/** Puts a row there as it would be after an earlier visit, and gives its id. */
async function store(account: Account, name: string, status: string): Promise<string> {
  const row = { user_id: account.session.user.id, name, url: dead, tools: [{ name: "kept" }], status };
  const wanted = { prefer: "return=representation" };
  const [stored] = await account.call<{ id: string }[]>("/rest/v1/mcp_servers", row, wanted);
  assert.ok(stored);
  return stored.id;
}

/** Returns the name of a color by its components. */
function hue([red = 0, green = 0, blue = 0]: number[]): string {
  const spread = Math.max(red, green, blue) - Math.min(red, green, blue);
  if (spread < 24) return "grey";
  if (green > red && green > blue) return "green";
  return green > red * 0.6 ? "yellow" : "red";
}

async function dotOf(appPage: AppPage, name: string): Promise<string> {
  const parts = await appPage
    .connection(name)
    .locator("[data-tone]")
    .evaluate((dot) => {
      const pen = document.createElement("canvas").getContext("2d");
      if (!pen) return [];
      pen.fillStyle = getComputedStyle(dot).backgroundColor;
      pen.fillRect(0, 0, 1, 1);
      return [...pen.getImageData(0, 0, 1, 1).data];
    });
  return hue(parts);
}

for (const colorScheme of ["light", "dark"] as const) {
  test(`the status dot is green, yellow, red or otherwise grey, in the ${colorScheme}`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, { colorScheme });
    const colours = { connected: "green", connecting: "yellow", error: "red", idle: "grey", asleep: "grey" };
    const connections: object[] = [];
    for (const status of Object.keys(colours)) {
      const id = await store(account, `server ${status}`, "connected");
      connections.push({ id, name: `server ${status}`, url: dead, status, tools: [], toolsFrom: "server" });
    }
    await appPage.page.route("**/api/events*", (route) => route.abort());
    await appPage.page.route("**/api/connections", (route) => route.fulfill({ json: { connections } }));
    await appPage.open("/?tab=servers");
    for (const [status, colour] of Object.entries(colours)) {
      const row = appPage.connection(`server ${status}`);
      await row.getByText(status, { exact: true }).waitFor();
      assert.equal(await dotOf(appPage, `server ${status}`), colour, status);
    }
    await appPage.card("Active Connections").getByText("5", { exact: true }).waitFor();
  });
}

test("on entry, stored connections are treated as connected, whatever was stored", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  for (const status of ["connected", "error"]) await store(account, `stored ${status}`, status);
  const never = new Promise<void>(() => undefined);
  for (const path of ["**/api/connections", "**/api/events*"]) await appPage.page.route(path, () => never);
  await appPage.open("/?tab=servers");
  for (const name of ["stored connected", "stored error"]) {
    await appPage.connection(name).getByText("connected", { exact: true }).waitFor();
    await appPage.connection(name).getByText(dead, { exact: true }).waitFor();
    assert.equal(await dotOf(appPage, name), "green");
  }
  const tools = appPage.card("Available Tools").getByRole("heading", { name: "kept", exact: true });
  assert.equal(await tools.count(), 2);
  await appPage.page.getByRole("tab", { name: "Tools (2)", exact: true }).waitFor();
  await appPage.openTab("Chat");
  await appPage.button("kept").first().waitFor();
  assert.equal(await appPage.button("kept").count(), 2, "they can be used at once");
});
