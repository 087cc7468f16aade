import assert from "node:assert/strict";
import { test } from "node:test";
import type { Session } from "@supabase/auth-js";
import type { Request } from "playwright-core";
import { newEmail, password } from "./account.ts";
import { startFixture } from "./fixture.ts";
import { eventually, type AppPage } from "./app-page.ts";

const fixture = await startFixture();

interface Call {
  method: string;
  path: string;
  query: URLSearchParams;
  body: unknown;
  headers: Record<string, string>;
}

/** Records the requests of the page from now on. */
function record({ page }: AppPage): Call[] {
  const calls: Call[] = [];
  page.on("request", (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (!/^\/(auth|rest|functions|storage)\//u.test(pathname)) return;
    calls.push({
      method: request.method(),
      path: pathname,
      query: searchParams,
      body: bodyOf(request),
      headers: request.headers(),
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
  const { account, appPage } = await fixture.openSignedInPage(t);
  const calls = record(appPage);
  const mine = `eq.${account.session.user.id}`;
  const url = `${fixture.app.url}/mcp/toolbox`;
  await appPage.open("/?tab=servers");
  await appPage.connect("toolbox", url);
  await appPage.connection("toolbox").waitFor();
  await appPage.removeConnection("toolbox");
  await appPage.toast("Connection Removed", "Removed connection to toolbox");

  assert.deepEqual(params(found(calls, "GET", "/rest/v1/mcp_servers")), { select: "*", user_id: mine });
  const proxied = found(calls, "POST", "/functions/v1/mcp-proxy");
  assert.deepEqual([proxied.body, proxied.headers["content-type"]], [{ url }, "application/json"]);
  const { tools, ...row } = found(calls, "POST", "/rest/v1/mcp_servers").body as { tools: unknown[] };
  assert.deepEqual(row, { user_id: account.session.user.id, name: "toolbox", url, status: "connected" });
  const answer = await account.call<{ success: boolean; data: unknown[]; error: null }>(proxied.path, {
    url,
  });
  assert.deepEqual({ ...answer, data: answer.data.length }, { success: true, data: 5, error: null });
  assert.deepEqual(tools, answer.data);
  const removal = params(found(calls, "DELETE", "/rest/v1/mcp_servers"));
  assert.deepEqual(removal, { user_id: mine, name: "eq.toolbox" });
});

test("chats and messages are read, made and deleted with the specified calls", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const calls = record(appPage);
  const user_id = account.session.user.id;
  await appPage.open();
  const reloads = () => {
    const sent = calls.findLastIndex(({ path }) => path === "/functions/v1/ai-chat");
    return calls.slice(sent).filter(({ path }) => path === "/rest/v1/ai_chat_messages");
  };
  for (const [at, words] of ["Hello", "And again"].entries()) {
    await appPage.ask(words);
    await eventually(async () => assert.equal(await appPage.answers.count(), at + 1));
    await eventually(() => assert.equal(reloads().length, 1, "messages are read again after each send"));
    await appPage.answered();
  }
  const [reload] = reloads();
  await appPage.newChat.click();
  await appPage.button("Chats (2)").waitFor();
  const dropdown = await appPage.openChats();
  await dropdown.getByRole("button", { name: "Delete Hello", exact: true }).click();
  await appPage.button("Chats (1)").waitFor();

  const list = params(found(calls, "GET", "/rest/v1/ai_chat_sessions"));
  assert.deepEqual(list, { select: "*", user_id: `eq.${user_id}`, order: "updated_at.desc" });
  const made = found(calls, "POST", "/rest/v1/ai_chat_sessions");
  assert.deepEqual(made.body, { user_id, title: "New Chat" });
  assert.equal(made.headers["accept"], "application/vnd.pgrst.object+json", "one row comes back");
  assert.match(made.headers["prefer"] ?? "", /return=representation/u);
  assert.ok(reload);
  const { created_at: _, ...asked } = params(reload);
  const session_id = asked["session_id"] ?? "";
  assert.deepEqual(asked, { select: "*", session_id, order: "created_at.asc" });
  assert.match(session_id, /^eq\.[0-9a-f-]{36}$/u);
  assert.deepEqual(params(found(calls, "DELETE", "/rest/v1/ai_chat_sessions")), { id: session_id });
});

test("a message goes to ai-chat with its session, the available tools and the bearer token", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connectToolbox();
  const chat = await account.newChat();
  const calls = record(appPage);
  await appPage.open(`/?c=${chat}`);
  await appPage.button("calculate").waitFor();
  await appPage.ask("Hello");
  await appPage.answered();
  const { body, headers } = found(calls, "POST", "/functions/v1/ai-chat");
  const { tools, ...rest } = body as { tools: Record<string, string>[] };
  assert.deepEqual(rest, { message: "Hello", sessionId: chat });
  assert.equal(tools.length, 5);
  for (const tool of tools) {
    assert.deepEqual(Object.keys(tool), ["name", "description", "serverName"]);
    assert.ok(tool["name"] && tool["description"] && tool["serverName"] === "toolbox");
  }
  assert.equal(headers["authorization"], `Bearer ${account.session.access_token}`);
});

test("accounts are made, opened and left with the specified calls", async (t) => {
  const appPage = await fixture.openPage(t);
  const calls = record(appPage);
  const email = newEmail();
  await appPage.open("/auth");
  await appPage.signUp(email);
  await appPage.composer.waitFor();
  await appPage.pressInHeader("Sign Out");
  await appPage.arrivesAt("/auth");
  await appPage.signIn(email);
  await appPage.composer.waitFor();

  const made = found(calls, "POST", "/auth/v1/signup");
  assert.deepEqual(params(made), { redirect_to: fixture.app.url });
  assert.deepEqual(pick(made.body, ["email", "password"]), { email, password });
  const opened = found(calls, "POST", "/auth/v1/token");
  assert.deepEqual(params(opened), { grant_type: "password" });
  assert.deepEqual(pick(opened.body, ["email", "password"]), { email, password });
  assert.match(found(calls, "POST", "/auth/v1/logout").headers["authorization"] ?? "", /^Bearer ey/u);
  const others = calls.filter(({ path }) => /^\/(auth|storage)\//u.test(path)).map(({ path }) => path);
  assert.deepEqual([...new Set(others)].toSorted(), [made.path, opened.path, "/auth/v1/logout"].toSorted());
});

test("the token is looked at every 30 s and renewed when three of these ticks remain", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const renewals = countRenewals(appPage);
  await appPage.page.clock.install();
  const session = { ...account.session, expires_at: Math.floor(Date.now() / 1000) + 225 };
  await appPage.keepSession(session);
  await appPage.open();
  await appPage.composer.waitFor();
  // 195, 165 and 135 s remain at the next three looks, which are more than three whole ticks, and then 105.
  for (let look = 0; look < 3; look++) await appPage.page.clock.runFor(30_000);
  assert.equal(renewals.length, 0);
  const renewed = appPage.page.waitForResponse(/grant_type=refresh_token/u);
  await appPage.page.clock.runFor(30_000);
  assert.equal((await renewed).status(), 200);
  assert.equal(renewals.length, 1);
});

test("a renewal that meets 502, 503 or 504 is tried again after 200 ms, doubling, and works in the end", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const faults = [502, 503, 504];
  let asked = 0;
  await expire(appPage, account.session);
  await appPage.page.route("**/auth/v1/token*", async (route) => {
    asked++;
    const status = faults.shift();
    await (status ? route.fulfill({ status, json: {} }) : route.continue());
  });
  await appPage.open();
  await appPage.composer.waitFor();
  assert.equal(asked, 4);
  assert.deepEqual(await waitsOf(appPage), [200, 400, 800]);
});

test("a renewal is tried again for 30 s, and not at all when it is refused", async (t) => {
  for (const [status, waits] of [
    [503, [200, 400, 800, 1600, 3200, 6400, 12_800]],
    [400, []],
  ] as const) {
    const { account, appPage } = await fixture.openSignedInPage(t);
    await expire(appPage, account.session);
    let asked = 0;
    await appPage.page.route("**/auth/v1/token*", async (route) => {
      asked++;
      await route.fulfill({ status, json: { code: "refresh_token_not_found", message: "no" } });
    });
    await appPage.open();
    await appPage.arrivesAt("/auth");
    assert.equal(asked, waits.length + 1);
    assert.deepEqual(await waitsOf(appPage), [...waits]);
  }
});

test("a page without a session asks for no data", async (t) => {
  const appPage = await fixture.openPage(t);
  const calls = record(appPage);
  await appPage.open();
  await appPage.arrivesAt("/auth");
  assert.deepEqual(calls, []);
  await appPage.signUp(newEmail());
  await appPage.composer.waitFor();
  assert.notEqual(calls.length, 0);
});

function pick(body: unknown, names: string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body as object).filter(([name]) => names.includes(name)));
}

function countRenewals({ page }: AppPage): string[] {
  const urls: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("grant_type=refresh_token")) urls.push(request.url());
  });
  return urls;
}

/** Gives the browser a session whose time has run out, and lets the waits of its renewal pass at once. */
async function expire(appPage: AppPage, session: Session): Promise<void> {
  await appPage.keepSession({ ...session, expires_at: Math.floor(Date.now() / 1000) - 60 });
  await appPage.page.addInitScript(() => {
    const waits: number[] = [];
    const { setTimeout: later } = globalThis;
    const { now } = Date;
    let skipped = 0;
    Date.now = () => now() + skipped;
    const hurry = (run: () => void, wait = 0) => {
      if (wait < 200 || !Number.isInteger(Math.log2(wait / 200))) return later(run, wait);
      waits.push(wait);
      skipped += wait;
      return later(run, 0);
    };
    Object.assign(globalThis, { setTimeout: hurry, waits });
  });
}

/** The waits that passed at once: 200 ms and what doubling makes of it. */
function waitsOf({ page }: AppPage): Promise<number[]> {
  return page.evaluate(() => (globalThis as unknown as { waits: number[] }).waits);
}
