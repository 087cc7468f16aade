/**
 * Tests the program of a package on a system of its own: sign-up, a call of a tool of another maker's MCP server, metrics,
 * a restart with the same data, and a backup that is restored. `RELEASED_PROGRAM` starts it there, `RELEASED_DATA_FOLDER` is
 * the data folder there, and `PROMTOOL` names Prometheus's checker. `cargo xtask release-test` runs this.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { Account } from "./account.ts";
import { startApp, type TestApp } from "./app.ts";
import { freePort } from "./free-port.ts";
import { startPeer } from "./peer.ts";
import { allowAll } from "./permission.ts";
import { call, say, ScriptedModel } from "./scripted-model.ts";

const program = process.env["RELEASED_PROGRAM"];
const folder = process.env["RELEASED_DATA_FOLDER"];
const promtool = process.env["PROMTOOL"];
if (!program || !folder || !promtool)
  throw new Error(
    "RELEASED_PROGRAM, RELEASED_DATA_FOLDER and PROMTOOL must be set; `cargo xtask release-test` does",
  );

const model = await ScriptedModel.start();
after(() => model.stop());
const server = await startPeer("mcp-server-everything", ["streamableHttp"], { PORT: "{port}" });
after(() => server.stop());
const adminPort = await freePort();
const token = "a token of more than 32 characters";
const env = {
  OPENAI_BASE_URL: model.baseUrl,
  CHAT_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
  CHAT_ADMIN_TOKEN: token,
};

test("answers, calls tools, has valid metrics and continues after a restart and a restore", async () => {
  let app = await startApp({ binary: program, env });
  assert.equal((await fetch(`${app.url}/health/ready`)).status, 200);
  assert.match(await (await fetch(app.url)).text(), /<title>/u);

  const account = await Account.create(app.url);
  const tools = await account.connect("everything", `http://127.0.0.1:${server.port}/mcp`);
  await allowAll(account, "everything");
  const chat = await account.newChat();
  model.answer(call("get-sum", { a: 2, b: 40.5 }));
  model.answer(say("It is 42.5."));
  const sum = tools.filter(({ name }) => name === "get-sum");
  assert.equal((await account.say(chat, "Add 2 and 40.5", sum)).content, "It is 42.5.");
  // The model received what the server answered.
  const result = model.requests.at(-1)?.messages.find(({ role }) => role === "tool");
  assert.match(JSON.stringify(result?.content), /42\.5/u);

  const metrics = await fetch(`http://127.0.0.1:${adminPort}/metrics`, {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(metrics.status, 200);
  await checkMetrics(await metrics.text());

  await app.stop({ keepData: true });
  app = await startApp({ binary: program, env, data: app.data });
  const before = ["Add 2 and 40.5", "It is 42.5."];
  assert.deepEqual(await said(app, account, chat), before);
  const backup = `${folder}/backup.tar.zst`;
  await app.command("backup", backup);
  await new Account(app.url, account.email, account.session).say(chat, "After the backup");
  assert.deepEqual(await said(app, account, chat), [...before, "After the backup", "OK"]);

  await app.stop({ keepData: true });
  await app.command("restore", backup, "--yes");
  app = await startApp({ binary: program, env, data: app.data });
  assert.deepEqual(await said(app, account, chat), before);
  await app.stop();
});

/** Signs in again and returns the messages of a chat. */
async function said(app: TestApp, { email, session }: Account, chat: string): Promise<string[]> {
  const again = await new Account(app.url, email, session).again();
  const path = `/rest/v1/ai_chat_messages?session_id=eq.${chat}&order=created_at`;
  return (await again.call<{ content: string }[]>(path)).map(({ content }) => content);
}

/** Fails with what Prometheus's checker says of the metrics. */
async function checkMetrics(text: string): Promise<void> {
  assert.match(text, /^ai_chat_mcp_tool_calls_total\{.*\} 1$/mu);
  const checked = promisify(execFile)(promtool ?? "", ["check", "metrics"]);
  checked.child.stdin?.end(text);
  await checked;
}
