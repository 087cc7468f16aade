import assert from "node:assert/strict";
import { after, test, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { closeToasts, desk, inspect, looks } from "./look.ts";
import { type Peer, startPeer } from "./peer.ts";
import { allowAll } from "./permission.ts";
import { call, say } from "./scripted-model.ts";
import { startFixture } from "./fixture.ts";
import { eventually, AppPage } from "./app-page.ts";

const fixture = await startFixture();

async function started(env: Record<string, string> = {}): Promise<Peer> {
  const peer = await startPeer("oauth.mjs", [], { PORT: "{port}", ...env });
  after(() => peer.stop());
  return peer;
}

const [notes, strict] = await Promise.all([started(), started({ REGISTERS: "no" })]);

function address({ port }: Peer, path = "/mcp"): string {
  return `http://127.0.0.1:${port}${path}`;
}

async function control(peer: Peer, changes: object): Promise<void> {
  const headers = { "content-type": "application/json" };
  await fetch(address(peer, "/control"), { method: "POST", headers, body: JSON.stringify(changes) });
}

async function connect(appPage: AppPage, peer: Peer): Promise<void> {
  await appPage.open("/?tab=servers");
  await appPage.connect("notes", address(peer));
  await appPage.toast("Sign-in required", /^notes requires you to sign in\./u);
  await appPage.connection("notes").getByText("needs sign in", { exact: true }).waitFor();
}

/** Goes to the sign-in server, decides there and comes back. */
async function decide(appPage: AppPage, peer: Peer, decision: "Allow" | "Deny"): Promise<void> {
  const row = appPage.connection("notes");
  await row.getByRole("button", { name: "Sign in to notes" }).click();
  await row.getByText(`127.0.0.1:${peer.port}`, { exact: true }).waitFor();
  await row.getByRole("link", { name: "Continue" }).click();
  await appPage.page.getByRole("heading", { name: "AI Chat MCP wants to use Notes" }).waitFor();
  await appPage.page.getByRole("link", { name: decision }).click();
  await appPage.field("Server Name").waitFor();
}

test("signs in to a server, uses its tools in a chat, and signs out of it", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await connect(appPage, notes);
  const stored = await account.call<{ tools: unknown[] }[]>("/rest/v1/mcp_servers?select=tools");
  assert.deepEqual(stored, [{ tools: [] }], "nothing stands in");
  await decide(appPage, notes, "Allow");
  await appPage.toast("Signed in", "Loading the server's tools…");
  const row = appPage.connection("notes");
  await row.getByText("connected", { exact: true }).waitFor();
  await row.getByText("You're signed in to this server.").waitFor();
  await appPage.card("Available Tools").getByText("read_notes").waitFor();
  assert.equal(new URL(appPage.page.url()).search, "?tab=servers", "a reload does not tell it again");
  await allowAll(account, "notes");

  await appPage.openTab("Chat");
  fixture.model.answer(call("read_notes", {}));
  fixture.model.answer(say("There they are."));
  await appPage.ask("Read my notes");
  await appPage.answered();
  await appPage.toolCall("read_notes").getByRole("button", { expanded: false }).click();
  await appPage
    .toolCall("read_notes")
    .getByText(/The notes of/u)
    .first()
    .waitFor();

  await appPage.openTab("MCP Servers");
  await row.getByRole("button", { name: "Sign out of notes" }).click();
  await row.getByRole("button", { name: "Sign in to notes" }).waitFor();
  await eventually(async () => {
    const seen = (await (await fetch(address(notes, "/control"))).json()) as { revoked: number };
    assert.equal(seen.revoked, 1);
  });
});

/** Opens a page whose session at a server ended before the assistant calls its tool. */
async function afterTheEnd(t: TestContext, options: object = {}): Promise<AppPage> {
  const { account, appPage } = await fixture.openSignedInPage(t, options);
  await connect(appPage, notes);
  await decide(appPage, notes, "Allow");
  await appPage.connection("notes").getByText("connected", { exact: true }).waitFor();
  await appPage.card("Available Tools").getByText("read_notes").waitFor();
  await allowAll(account, "notes");
  await control(notes, { forgetAccess: true, refuseRefresh: true });
  await appPage.openTab("Chat");
  fixture.model.answer(call("read_notes", {}));
  fixture.model.answer(say("That was that."));
  await appPage.ask("Read my notes");
  await wish(appPage).waitFor();
  await control(notes, { refuseRefresh: false });
  return appPage;
}

const wish = (appPage: AppPage) =>
  appPage.page.getByRole("region", { name: "notes requires you to sign in" });

test("a call whose sign-in has ended waits, and goes on by itself after a sign-in in another window", async (t) => {
  const appPage = await afterTheEnd(t);
  await appPage.page.reload();
  await wish(appPage).getByRole("button", { name: "Sign in to notes" }).click();
  await wish(appPage).getByText(`127.0.0.1:${notes.port}`, { exact: true }).waitFor();
  async function follow(name: string): Promise<Page> {
    const opening = appPage.page.context().waitForEvent("page");
    await wish(appPage).getByRole("link", { name }).click();
    const opened = await opening;
    await opened.getByRole("heading", { name: "AI Chat MCP wants to use Notes" }).waitFor();
    assert.equal(await opened.evaluate(() => window.opener), null);
    return opened;
  }
  const refused = await follow("Continue");
  await refused.getByRole("link", { name: "Deny" }).click();
  const end = refused.getByRole("dialog", { name: "Not signed in" });
  await end.getByText(/^You can close this window/u).waitFor();
  await inspect(new AppPage(refused, appPage.origin), "sign-in-window", {
    viewport: desk,
    colorScheme: "light",
    hasTouch: false,
  });
  await end.getByRole("button", { name: "Stay in this window" }).click();
  await refused.getByLabel("Server Name").waitFor();
  await refused.close();

  const opened = await follow("Open again");
  const closed = opened.waitForEvent("close");
  await opened.getByRole("link", { name: "Allow" }).click();
  await appPage.answers.getByText("That was that.").waitFor();
  await closed;
  await wish(appPage).waitFor({ state: "hidden" });
  await appPage.answered();
  assert.equal(await appPage.toolCall("read_notes").getAttribute("data-state"), "done");
});

test("a call that waits for a sign-in can be skipped, and the connection says what it wants", async (t) => {
  const appPage = await afterTheEnd(t);
  await wish(appPage).getByRole("button", { name: "Skip" }).click();
  await appPage.answers.getByText("That was that.").waitFor();
  await appPage.answered();
  await appPage.toolCall("read_notes").getByRole("button", { expanded: false }).click();
  await appPage
    .toolCall("read_notes")
    .getByText(/The server notes wants you to sign in; you can do that in the MCP Servers tab/u)
    .first()
    .waitFor();
  await appPage.openTab("MCP Servers");
  await appPage.connection("notes").getByRole("button", { name: "Sign in to notes" }).waitFor();
});

test("a no is told, and the way stays open", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await connect(appPage, notes);
  await decide(appPage, notes, "Deny");
  await appPage.toast("Not signed in", "Access was denied. You can connect at any time.");
  await appPage.connection("notes").getByRole("button", { name: "Sign in to notes" }).waitFor();
});

test("a client that was registered by hand is entered where the sign-in server wants it", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  const callback = `${fixture.app.url}/api/connections/callback`;
  const client = { client_id: "by-hand", client_secret: "s3cret", client_name: "AI Chat MCP" };
  await control(strict, { client: { ...client, redirect_uris: [callback] } });
  await connect(appPage, strict);
  const row = appPage.connection("notes");
  await row.getByRole("button", { name: "Sign in to notes" }).click();
  await row.getByText(callback).waitFor();
  await appPage.field("Client ID").fill("mistyped");
  await row.getByRole("button", { name: "Save and continue" }).click();
  await row.getByRole("button", { name: "Use my own client ID" }).click();
  await appPage.field("Client ID").fill("by-hand");
  await appPage.field("Client secret (optional)").fill("s3cret");
  await row.getByRole("button", { name: "Save and continue" }).click();
  await row.getByRole("link", { name: "Continue" }).click();
  await appPage.page.getByRole("link", { name: "Allow" }).click();
  await row.getByText("connected", { exact: true }).waitFor();
});

for (const [name, look] of looks) {
  test(`signing in to servers can be read, reached and hit: ${name}`, async (t) => {
    const { viewport, colorScheme, hasTouch } = look;
    const { appPage } = await fixture.openSignedInPage(t, { viewport, colorScheme, hasTouch });
    await connect(appPage, notes);
    await closeToasts(appPage);
    const row = appPage.connection("notes");
    await row.getByRole("button", { name: "Sign in to notes" }).waitFor();
    await inspect(appPage, "sign-in-needed", look);
    await row.getByRole("button", { name: "Sign in to notes" }).click();
    await row.getByRole("link", { name: "Continue" }).waitFor();
    await inspect(appPage, "sign-in-leads", look);
    await row.getByRole("button", { name: "Cancel" }).click();
    await decide(appPage, notes, "Allow");
    await row.getByText("You're signed in to this server.").waitFor();
    await closeToasts(appPage);
    await inspect(appPage, "sign-in-done", look);
    await appPage.removeConnection("notes");
    await closeToasts(appPage);

    await connect(appPage, strict);
    await closeToasts(appPage);
    await row.getByRole("button", { name: "Sign in to notes" }).click();
    await appPage.field("Client ID").waitFor();
    await inspect(appPage, "sign-in-client", look);

    const waiting = await afterTheEnd(t, { viewport, colorScheme, hasTouch });
    await inspect(waiting, "sign-in-paused", look);
    await wish(waiting).getByRole("button", { name: "Sign in to notes" }).click();
    await wish(waiting).getByRole("link", { name: "Continue" }).waitFor();
    await inspect(waiting, "sign-in-paused-leads", look);
  });
}
