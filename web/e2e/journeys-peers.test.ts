import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { type Peer, startPeer } from "./peer.ts";
import { startFixture } from "./fixture.ts";
import type { AppPage } from "./app-page.ts";

const fixture = await startFixture();

async function started(...args: Parameters<typeof startPeer>): Promise<Peer> {
  const peer = await startPeer(...args);
  after(() => peer.stop());
  return peer;
}

const proxied = [
  "--host",
  "127.0.0.1",
  "--port",
  "{port}",
  "--",
  "node",
  "{bin}/mcp-server-filesystem",
  "{folder}",
];
const memoryArgs = [
  "--stdio",
  "node {bin}/mcp-server-memory",
  "--outputTransport",
  "ws",
  "--port",
  "{port}",
  "--messagePath",
  "/message",
];
const [streamable, sse, files, memory] = await Promise.all([
  started("mcp-server-everything", ["streamableHttp"], { PORT: "{port}" }),
  started("mcp-server-everything", ["sse"], { PORT: "{port}" }),
  started("mcp-proxy", proxied),
  started("supergateway", memoryArgs, { MEMORY_FILE_PATH: "{folder}/memory.jsonl" }),
]);

/** Connects a server in the page, fills in the form of one of its tools, and gives what the tool answered. */
async function use(
  t: TestContext,
  url: string,
  tool: string,
  fill: (appPage: AppPage) => Promise<void>,
): Promise<string> {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open("/?tab=servers");
  await appPage.connect("theirs", url);
  await appPage.toast("Connection Successful", /^Connected to theirs with \d+ tools$/u);
  await appPage.connection("theirs").getByText("connected", { exact: true }).waitFor();
  await appPage.openTab("Tools");
  await appPage.toolCard(tool).getByRole("button", { name: "Use Tool" }).click();
  await fill(appPage);
  await appPage.sheet.getByRole("button", { name: "Run", exact: true }).click();
  const result = appPage.sheet.getByRole("region", { name: "Result" });
  await result.getByText("Done", { exact: true }).waitFor();
  return (await result.textContent()) ?? "";
}

test("the server everything over streamable HTTP", async (t) => {
  const said = await use(t, `http://127.0.0.1:${streamable.port}/mcp`, "get-sum", async ({ sheet }) => {
    await sheet.getByLabel(/^a/u).fill("2");
    await sheet.getByLabel(/^b/u).fill("40.5");
  });
  assert.match(said, /42\.5/u);
});

test("the server everything over HTTP with SSE", async (t) => {
  const said = await use(t, `http://localhost:${sse.port}/sse`, "echo", async ({ sheet }) => {
    await sheet.getByLabel(/^message/u).fill("grüß dich");
  });
  assert.match(said, /Echo: grüß dich/u);
});

test("the file server behind a proxy of both eras", async (t) => {
  const note = join(files.folder, "note.txt");
  await writeFile(note, "written by the test");
  const said = await use(t, `http://127.0.0.1:${files.port}/mcp`, "read_text_file", async ({ sheet }) => {
    await sheet.getByLabel(/^path/u).fill(note);
  });
  assert.match(said, /written by the test/u);
});

test("the memory server behind a WebSocket gateway", async (t) => {
  const said = await use(t, `ws://127.0.0.1:${memory.port}/message`, "search_nodes", async ({ sheet }) => {
    await sheet.getByLabel(/^query/u).fill("nobody");
  });
  assert.match(said, /entities/u);
});
