import assert from "node:assert/strict";
import { after, test, type TestContext } from "node:test";
import { echoApp, hostileApp } from "./scripted-apps.ts";
import { startPeer } from "./peer.ts";
import { allowAll } from "./permission.ts";
import { call, say } from "./scripted-model.ts";
import { type ScriptedApp, type ScriptedTool, serveTools, serveWebSite } from "./scripted-mcp.ts";
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
const question = (appPage: AppPage, name: string | RegExp) => appPage.page.getByRole("region", { name });
const frame = (appPage: AppPage, tool: string) => appPage.toolCall(tool).locator("iframe");

/** Opens a chat with the answer to a request that called one tool; all tools are allowed. */
async function asked(
  t: TestContext,
  url: string,
  tool: string,
  options: object = {},
): Promise<{ appPage: AppPage; allow: () => Promise<void> }> {
  const { account, appPage } = await fixture.openSignedInPage(t, options);
  await account.connect("theirs", url);
  await allowAll(account, "theirs");
  await appPage.open();
  fixture.model.answer(call(tool, {}));
  fixture.model.answer(say("There you are."));
  await appPage.ask(`Use ${tool}`);
  await appPage.answers.getByText("There you are.").waitFor();
  return { appPage, allow: () => allowAll(account, "theirs") };
}

/** The same with a scripted server, whose first tool has the app. */
async function askedScripted(
  t: TestContext,
  html: string,
  options: { tools?: ScriptedTool[]; app?: Partial<ScriptedApp>; visit?: object } = {},
) {
  const app = { uri: "ui://scripted/app", html, ...options.app };
  const report: ScriptedTool = {
    name: "report",
    meta: { ui: { resourceUri: "ui://scripted/app" } },
    run: () => "all is well",
  };
  const server = await serveTools([report, ...(options.tools ?? [])], {}, [app]);
  t.after(() => server.stop());
  return asked(t, server.url, "report", options.visit);
}

test("an app of another maker runs in its card, calls its tool when that is allowed, and asks before links and messages", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connect("clock", `http://127.0.0.1:${clock.port}/mcp`);
  await appPage.open();
  fixture.model.answer(call("get-time", {}));
  fixture.model.answer(say("It is late."));
  await appPage.ask("What time is it?");
  await appPage.button("Allow once").click();
  await appPage.answers.getByText("It is late.").waitFor();
  const app = inside(appPage, "get-time");
  const shown = app.locator("#server-time");
  await eventually(async () => assert.match((await shown.textContent()) ?? "", /^\d{4}-/u));
  const before = await shown.textContent();

  await app.getByRole("button", { name: "Get Server Time" }).click();
  const asks = question(appPage, "Allow clock to run get-time?");
  await asks.getByText("Requested by the get-time app (clock).").waitFor();
  assert.equal(await shown.textContent(), before, "nothing runs before the person has said so");
  await asks.getByRole("button", { name: "Deny" }).click();
  await asks.waitFor({ state: "hidden" });
  await app.getByRole("button", { name: "Get Server Time" }).click();
  await asks.getByRole("button", { name: "Always allow" }).click();
  await eventually(async () => {
    const now = (await shown.textContent()) ?? "";
    assert.match(now, /^\d{4}-/u);
    assert.notEqual(now, before);
  });
  const second = await shown.textContent();
  await app.getByRole("button", { name: "Get Server Time" }).click();
  await eventually(async () => assert.notEqual(await shown.textContent(), second));
  assert.equal(await asks.count(), 0, "what is always allowed is not asked again");

  await app.getByRole("button", { name: "Open Link" }).click();
  const link = question(appPage, "Open this page?");
  await link.getByText("https://modelcontextprotocol.io/", { exact: true }).waitFor();
  const opens = link.getByRole("link", { name: "Open in a new tab" });
  assert.equal(await opens.getAttribute("rel"), "noopener noreferrer");
  await link.getByRole("button", { name: "Don't open" }).click();
  await link.waitFor({ state: "hidden" });

  await app.getByRole("button", { name: "Send Message" }).click();
  const message = question(appPage, "Send this as your message?");
  fixture.model.answer(say("So I hear."));
  await message.getByRole("button", { name: "Send", exact: true }).click();
  await appPage.answers.getByText("So I hear.").waitFor();
  assert.equal(await appPage.questions.count(), 2);

  const { calls } = await account.call<{ calls: { tool: string; allowedBy: string; outcome: string }[] }>(
    "/api/tools/audit",
  );
  assert.deepEqual(
    calls.map(({ allowedBy, outcome }) => [allowedBy, outcome]),
    [
      ["rule", "done"],
      ["always", "done"],
      ["nobody", "denied"],
      ["once", "done"],
    ],
  );
});

test("an app stands at its height with its result after a reload, and the plain result is behind it", async (t) => {
  const { appPage } = await asked(t, `http://127.0.0.1:${budget.port}/mcp`, "get-budget-data");
  const app = inside(appPage, "get-budget-data");
  await app.getByText("Marketing").first().waitFor();
  const place = frame(appPage, "get-budget-data");
  const heightOf = async () => (await place.boundingBox())?.height ?? 0;
  await eventually(async () => assert.notEqual(await heightOf(), 320));
  await appPage.page.waitForFunction(() => document.querySelector("time") !== null);
  const height = await heightOf();
  await appPage.page.reload();
  await place.waitFor();
  assert.equal(await heightOf(), height, "nothing jumps");
  await app.getByText("Marketing").first().waitFor();
  await appPage.button("Show result").click();
  await appPage
    .toolCall("get-budget-data")
    .getByText(/Budget Allocator Configuration/u)
    .waitFor();
  await appPage.button("Hide result").click();
});

test("an app is told of the call, of its theme while that changes, and of its end", async (t) => {
  const said: string[] = [];
  const tools = [{ name: "goodbye", run: () => (said.push("goodbye"), "") }];
  const { appPage, allow } = await askedScripted(t, echoApp, { tools, visit: { colorScheme: "light" } });
  await allow();
  const app = inside(appPage, "report");
  await app.getByText("arguments {}, result all is well").waitFor();
  assert.equal(await app.locator("body").getAttribute("data-theme"), "light");
  await appPage.page.emulateMedia({ colorScheme: "dark" });
  await app.locator("body[data-theme=dark]").waitFor();
  await appPage.openTab("Tools");
  await appPage.openTab("Chat");
  await app.locator("body[data-theme=dark]").waitFor();
  await app.getByText("arguments {}, result all is well").waitFor();

  await app.locator("body").evaluate(async () => {
    const { tell } = globalThis as unknown as { tell: (words: string) => Promise<void> };
    await tell("Row 6");
    await tell("Row 7");
  });
  fixture.model.answer(say("Row 7 it is."));
  await appPage.ask("Which row?");
  await appPage.answers.getByText("Row 7 it is.").waitFor();
  const told = JSON.stringify(fixture.model.requests.at(-1)?.messages.at(-1));
  assert.match(
    told,
    /Which row\?.*From the app of the tool report \(theirs\), not from the person: Row 7\]/u,
  );
  assert.doesNotMatch(told, /Row 6/u);

  await appPage.newChat.click();
  await frame(appPage, "report").waitFor({ state: "detached" });
  await eventually(() => assert.deepEqual(said, ["goodbye"], "it could still put things in order"));
});

test("an app that begins with its call hears when the call is stopped", async (t) => {
  const never = Promise.withResolvers<string>();
  const app = { uri: "ui://scripted/app", html: echoApp };
  const slow = { name: "slow", meta: { ui: { resourceUri: app.uri } }, run: () => never.promise };
  const server = await serveTools([slow], {}, [app]);
  t.after(() => server.stop());
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connect("theirs", server.url);
  await allowAll(account, "theirs");
  await appPage.open();
  fixture.model.answer(call("slow", { rows: 3 }));
  await appPage.ask("Take your time");
  await inside(appPage, "slow").getByText('arguments {"rows":3}').waitFor();
  await appPage.stop.click();
  await inside(appPage, "slow")
    .getByText(/^cancelled: /u)
    .waitFor();
  never.resolve("");
});

test("a hostile app reaches neither our storage nor our API nor a foreign host, and no tool that is not its own", async (t) => {
  const foreign = await serveWebSite();
  t.after(() => foreign.stop());
  const ran: string[] = [];
  const tool = (name: string, visibility?: string[]): ScriptedTool => ({
    name,
    ...(visibility && { meta: { ui: { visibility } } }),
    run: () => (ran.push(name), "ran"),
  });
  const origin = new URL(foreign.url).origin;
  const { account, appPage } = await fixture.openSignedInPage(t);
  const reached: string[] = [];
  appPage.page.on("response", (response) => {
    const isInside = response.frame().parentFrame() !== null;
    if (isInside && !response.url().includes("/sandbox/")) reached.push(response.url());
  });
  const app = { uri: "ui://scripted/app", html: hostileApp(fixture.app.url, origin) };
  const report: ScriptedTool = { name: "report", meta: { ui: { resourceUri: app.uri } }, run: () => "ran" };
  const server = await serveTools([report, tool("secret", ["model"]), tool("forbidden")], {}, [app]);
  t.after(() => server.stop());
  await account.connectToolbox();
  await account.connect("theirs", server.url);
  await allowAll(account, "theirs");
  const { permissions } = await account.call<{ permissions: { connectionId: string; tool: string }[] }>(
    "/api/tools/permissions",
  );
  const connectionId = permissions.find((one) => one.tool === "forbidden")?.connectionId;
  const never = { connectionId, tool: "forbidden", permission: "never" };
  await account.call("/api/tools/permissions", never, {}, "PUT");
  await appPage.open();
  fixture.model.answer(call("report", {}));
  fixture.model.answer(say("Done."));
  await appPage.ask("Report");
  const told = inside(appPage, "report").locator("#report");
  await eventually(async () => assert.notEqual(await told.textContent(), ""), 60_000);
  const got = JSON.parse((await told.textContent()) ?? "{}") as Record<string, string>;
  const escaped = Object.entries(got).filter(([, outcome]) => outcome !== "refused");
  assert.ok(Object.keys(got).length > 30);
  assert.deepEqual(escaped, []);
  assert.deepEqual(ran, []);
  const address = appPage.page.url();
  await inside(appPage, "report").locator("#leave").click();
  // What it left for would have been asked for by now: the page's own next request is answered.
  await appPage.page.evaluate(() => fetch("/health/live").then((live) => live.text()));
  assert.deepEqual([foreign.visits, reached], [[], []]);
  assert.equal(appPage.page.url(), address);
  assert.equal(appPage.page.context().pages().length, 1);
});

test("where there is no app to be shown, the result is", async (t) => {
  const { appPage } = await askedScripted(t, "<p>never mind</p>", { app: { mimeType: "text/html" } });
  const card = appPage.toolCall("report");
  await card.getByText('The app is no page, but "text/html".').waitFor();
  await card.getByText("all is well").waitFor();
  const silent = await askedScripted(t, "<p>I say nothing</p>");
  const quiet = silent.appPage.toolCall("report");
  await quiet.getByText("The app didn't start. Showing the raw result.").waitFor();
  await quiet.getByText("all is well").waitFor();
  assert.equal(await frame(silent.appPage, "report").count(), 0);
});

test("camera and place are asked for before the app begins", async (t) => {
  const ui = {
    permissions: { camera: {}, geolocation: {} },
    csp: { connectDomains: ["https://api.example"] },
  };
  const { appPage } = await askedScripted(t, echoApp, { app: { ui } });
  const asks = question(appPage, "Allow the app to use your camera and your location?");
  await asks.waitFor();
  assert.equal(await frame(appPage, "report").count(), 0);
  await asks.getByRole("button", { name: "Start without" }).click();
  await inside(appPage, "report").getByText("arguments {}, result all is well").waitFor();
  assert.equal(await frame(appPage, "report").getAttribute("allow"), "");
  await appPage.sees(
    /may send data to api\.example, but a malicious app may find ways to reach other sites\.$/u,
  );
});
