import assert from "node:assert/strict";
import { test } from "node:test";
import type { Request } from "playwright-core";
import { newEmail } from "./account.ts";
import { openStage } from "./stage.ts";
import type { Visitor } from "./visitor.ts";

const stage = await openStage();

interface Call {
  method: string;
  path: string;
  query: URLSearchParams;
  body: unknown;
  bearer: string | undefined;
}

/** What the page asks of the server from now on. */
function record({ page }: Visitor): Call[] {
  const calls: Call[] = [];
  page.on("request", (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (!/^\/(rest|functions)\//u.test(pathname)) return;
    const bearer = request.headers()["authorization"];
    calls.push({
      method: request.method(),
      path: pathname,
      query: searchParams,
      body: bodyOf(request),
      bearer,
    });
  });
  return calls;
}

function bodyOf(request: Request): unknown {
  return request.postData() === null ? undefined : request.postDataJSON();
}

/** The first call of that kind; it must have been made. */
function found(calls: Call[], method: string, path: string): Call {
  const call = calls.find((one) => one.method === method && one.path === path);
  assert.ok(call, `${method} ${path} was called`);
  return call;
}

const params = ({ query }: Call) => Object.fromEntries(query);

test("servers are read, added and removed with the specified calls", async (t) => {
  const { account, visitor } = await stage.member(t);
  const calls = record(visitor);
  const mine = `eq.${account.session.user.id}`;
  const url = `${stage.app.url}/mcp/toolbox`;
  await visitor.open("/?tab=servers");
  await visitor.connect("toolbox", url);
  await visitor.connection("toolbox").waitFor();
  await visitor.button("Remove toolbox").click();
  await visitor.toast("Connection Removed", "Removed connection to toolbox");

  assert.equal(params(found(calls, "GET", "/rest/v1/mcp_servers"))["user_id"], mine);
  assert.deepEqual(found(calls, "POST", "/functions/v1/mcp-proxy").body, { url });
  const { tools, ...row } = found(calls, "POST", "/rest/v1/mcp_servers").body as { tools: unknown[] };
  assert.deepEqual(row, { user_id: account.session.user.id, name: "toolbox", url, status: "connected" });
  assert.equal(tools.length, 5);
  const removal = params(found(calls, "DELETE", "/rest/v1/mcp_servers"));
  assert.deepEqual(removal, { user_id: mine, name: "eq.toolbox" });
});

test("chats and messages are read, made and deleted with the specified calls", async (t) => {
  const { account, visitor } = await stage.member(t);
  const calls = record(visitor);
  const user_id = account.session.user.id;
  await visitor.open();
  await visitor.ask("Hello");
  await visitor.answered();
  await visitor.button("New Chat").click();
  await visitor.button("Chats (2)").waitFor();
  const dropdown = await visitor.openChats();
  await dropdown.getByRole("button", { name: "Delete Hello", exact: true }).click();
  await visitor.button("Chats (1)").waitFor();

  const list = params(found(calls, "GET", "/rest/v1/ai_chat_sessions"));
  assert.deepEqual([list["user_id"], list["order"]], [`eq.${user_id}`, "updated_at.desc"]);
  assert.deepEqual(found(calls, "POST", "/rest/v1/ai_chat_sessions").body, { user_id, title: "New Chat" });
  const after = calls.findIndex(({ path }) => path === "/functions/v1/ai-chat");
  const reload = params(found(calls.slice(after), "GET", "/rest/v1/ai_chat_messages"));
  assert.match(reload["session_id"] ?? "", /^eq\./u);
  assert.equal(reload["order"], "created_at.asc", "messages are read again after each send, in order");
  assert.deepEqual(params(found(calls, "DELETE", "/rest/v1/ai_chat_sessions")), { id: reload["session_id"] });
});

test("a message goes to ai-chat with its session, the available tools and the bearer token", async (t) => {
  const { account, visitor } = await stage.member(t);
  await account.connectToolbox();
  const chat = await account.newChat();
  const calls = record(visitor);
  await visitor.open(`/?c=${chat}`);
  await visitor.button("calculate").waitFor();
  await visitor.ask("Hello");
  await visitor.answered();
  const { body, bearer } = found(calls, "POST", "/functions/v1/ai-chat");
  const { message, sessionId, tools } = body as {
    message: string;
    sessionId: string;
    tools: { name: string; description: string; serverName: string }[];
  };
  assert.deepEqual([message, sessionId], ["Hello", chat]);
  assert.equal(tools.length, 5);
  for (const tool of tools) assert.ok(tool.name && tool.description && tool.serverName === "toolbox");
  assert.equal(bearer, `Bearer ${account.session.access_token}`);
});

test("the token is looked at every 30 s and renewed when three of these ticks remain", async (t) => {
  const { account, visitor } = await stage.member(t);
  const renewals = countRenewals(visitor);
  await visitor.page.clock.install();
  const session = { ...account.session, expires_at: Math.floor(Date.now() / 1000) + 225 };
  await visitor.keepSession(session);
  await visitor.open();
  await visitor.composer.waitFor();
  // 195, 165 and 135 s remain at the next three looks, which are more than three whole ticks, and then 105.
  for (let look = 0; look < 3; look++) await visitor.page.clock.runFor(30_000);
  assert.equal(renewals.length, 0);
  const renewed = visitor.page.waitForResponse(/grant_type=refresh_token/u);
  await visitor.page.clock.runFor(30_000);
  assert.equal((await renewed).status(), 200);
  assert.equal(renewals.length, 1);
});

test("a renewal that meets 502, 503 or 504 is tried again, after 200 ms and twice that each time", async (t) => {
  const { account, visitor } = await stage.member(t);
  const session = { ...account.session, expires_at: Math.floor(Date.now() / 1000) - 60 };
  await visitor.keepSession(session);
  const faults = [502, 503, 504];
  const times: number[] = [];
  await visitor.page.route("**/auth/v1/token*", async (route) => {
    times.push(Date.now());
    const status = faults.shift();
    await (status ? route.fulfill({ status, json: {} }) : route.continue());
  });
  await visitor.open();
  await visitor.composer.waitFor();
  assert.equal(times.length, 4);
  const waits = times.slice(1).map((time, at) => time - (times[at] ?? 0));
  for (const [at, least] of [200, 400, 800].entries()) {
    assert.ok((waits[at] ?? 0) >= least, `${waits.join(", ")} ms`);
  }
});

test("a page without a session asks for no data", async (t) => {
  const visitor = await stage.visitor(t);
  const calls = record(visitor);
  await visitor.open();
  await visitor.arrivesAt("/auth");
  assert.deepEqual(calls, []);
  await visitor.signUp(newEmail());
  await visitor.composer.waitFor();
  assert.notEqual(calls.length, 0);
});

function countRenewals({ page }: Visitor): string[] {
  const urls: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("grant_type=refresh_token")) urls.push(request.url());
  });
  return urls;
}
