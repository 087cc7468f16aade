import assert from "node:assert/strict";
import { after, test, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { closeToasts, desk, inspect, looks } from "./look.ts";
import { type Peer, startPeer } from "./peer.ts";
import { allowAll } from "./permission.ts";
import { call, say } from "./scripted-model.ts";
import { openStage } from "./stage.ts";
import { eventually, Visitor } from "./visitor.ts";

const stage = await openStage();

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

async function connect(visitor: Visitor, peer: Peer): Promise<void> {
  await visitor.open("/?tab=servers");
  await visitor.connect("notes", address(peer));
  await visitor.toast("Sign-in required", /^notes requires you to sign in\./u);
  await visitor.connection("notes").getByText("needs sign in", { exact: true }).waitFor();
}

/** Goes to the sign-in server, decides there and comes back. */
async function decide(visitor: Visitor, peer: Peer, decision: "Allow" | "Deny"): Promise<void> {
  const row = visitor.connection("notes");
  await row.getByRole("button", { name: "Sign in to notes" }).click();
  await row.getByText(`127.0.0.1:${peer.port}`, { exact: true }).waitFor();
  await row.getByRole("link", { name: "Continue" }).click();
  await visitor.page.getByRole("heading", { name: "AI Chat MCP wants to use Notes" }).waitFor();
  await visitor.page.getByRole("link", { name: decision }).click();
  await visitor.field("Server Name").waitFor();
}

test("signs in to a server, uses its tools in a chat, and signs out of it", async (t) => {
  const { account, visitor } = await stage.member(t);
  await connect(visitor, notes);
  const stored = await account.call<{ tools: unknown[] }[]>("/rest/v1/mcp_servers?select=tools");
  assert.deepEqual(stored, [{ tools: [] }], "nothing stands in");
  await decide(visitor, notes, "Allow");
  await visitor.toast("Signed in", "Loading the server's tools…");
  const row = visitor.connection("notes");
  await row.getByText("connected", { exact: true }).waitFor();
  await row.getByText("You're signed in to this server.").waitFor();
  await visitor.card("Available Tools").getByText("read_notes").waitFor();
  assert.equal(new URL(visitor.page.url()).search, "?tab=servers", "a reload does not tell it again");
  await allowAll(account, "notes");

  await visitor.openTab("Chat");
  stage.model.answer(call("read_notes", {}));
  stage.model.answer(say("There they are."));
  await visitor.ask("Read my notes");
  await visitor.answered();
  await visitor.toolCall("read_notes").getByRole("button", { expanded: false }).click();
  await visitor
    .toolCall("read_notes")
    .getByText(/The notes of/u)
    .first()
    .waitFor();

  await visitor.openTab("MCP Servers");
  await row.getByRole("button", { name: "Sign out of notes" }).click();
  await row.getByRole("button", { name: "Sign in to notes" }).waitFor();
  await eventually(async () => {
    const seen = (await (await fetch(address(notes, "/control"))).json()) as { revoked: number };
    assert.equal(seen.revoked, 1);
  });
});

/** Somebody who was signed in, and whose assistant calls a tool after that has ended. */
async function afterTheEnd(t: TestContext, options: object = {}): Promise<Visitor> {
  const { account, visitor } = await stage.member(t, options);
  await connect(visitor, notes);
  await decide(visitor, notes, "Allow");
  await visitor.connection("notes").getByText("connected", { exact: true }).waitFor();
  await visitor.card("Available Tools").getByText("read_notes").waitFor();
  await allowAll(account, "notes");
  await control(notes, { forgetAccess: true, refuseRefresh: true });
  await visitor.openTab("Chat");
  stage.model.answer(call("read_notes", {}));
  stage.model.answer(say("That was that."));
  await visitor.ask("Read my notes");
  await wish(visitor).waitFor();
  await control(notes, { refuseRefresh: false });
  return visitor;
}

const wish = (visitor: Visitor) =>
  visitor.page.getByRole("region", { name: "notes requires you to sign in" });

test("a call whose sign-in has ended waits, and goes on by itself after a sign-in in another window", async (t) => {
  const visitor = await afterTheEnd(t);
  await visitor.page.reload();
  await wish(visitor).getByRole("button", { name: "Sign in to notes" }).click();
  await wish(visitor).getByText(`127.0.0.1:${notes.port}`, { exact: true }).waitFor();
  async function follow(name: string): Promise<Page> {
    const opening = visitor.page.context().waitForEvent("page");
    await wish(visitor).getByRole("link", { name }).click();
    const opened = await opening;
    await opened.getByRole("heading", { name: "AI Chat MCP wants to use Notes" }).waitFor();
    assert.equal(await opened.evaluate(() => window.opener), null);
    return opened;
  }
  const refused = await follow("Continue");
  await refused.getByRole("link", { name: "Deny" }).click();
  const end = refused.getByRole("dialog", { name: "Not signed in" });
  await end.getByText(/^You can close this window/u).waitFor();
  await inspect(new Visitor(refused, visitor.origin), "sign-in-window", {
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
  await visitor.answers.getByText("That was that.").waitFor();
  await closed;
  await wish(visitor).waitFor({ state: "hidden" });
  await visitor.answered();
  assert.equal(await visitor.toolCall("read_notes").getAttribute("data-state"), "done");
});

test("a call that waits for a sign-in can be skipped, and the connection says what it wants", async (t) => {
  const visitor = await afterTheEnd(t);
  await wish(visitor).getByRole("button", { name: "Skip" }).click();
  await visitor.answers.getByText("That was that.").waitFor();
  await visitor.answered();
  await visitor.toolCall("read_notes").getByRole("button", { expanded: false }).click();
  await visitor
    .toolCall("read_notes")
    .getByText(/The server notes wants you to sign in; you can do that in the MCP Servers tab/u)
    .first()
    .waitFor();
  await visitor.openTab("MCP Servers");
  await visitor.connection("notes").getByRole("button", { name: "Sign in to notes" }).waitFor();
});

test("a no is told, and the way stays open", async (t) => {
  const { visitor } = await stage.member(t);
  await connect(visitor, notes);
  await decide(visitor, notes, "Deny");
  await visitor.toast("Not signed in", "Access was denied. You can connect at any time.");
  await visitor.connection("notes").getByRole("button", { name: "Sign in to notes" }).waitFor();
});

test("a client that was registered by hand is entered where the sign-in server wants it", async (t) => {
  const { visitor } = await stage.member(t);
  const callback = `${stage.app.url}/api/connections/callback`;
  const client = { client_id: "by-hand", client_secret: "s3cret", client_name: "AI Chat MCP" };
  await control(strict, { client: { ...client, redirect_uris: [callback] } });
  await connect(visitor, strict);
  const row = visitor.connection("notes");
  await row.getByRole("button", { name: "Sign in to notes" }).click();
  await row.getByText(callback).waitFor();
  await visitor.field("Client ID").fill("mistyped");
  await row.getByRole("button", { name: "Save and continue" }).click();
  await row.getByRole("button", { name: "Use my own client ID" }).click();
  await visitor.field("Client ID").fill("by-hand");
  await visitor.field("Client secret (optional)").fill("s3cret");
  await row.getByRole("button", { name: "Save and continue" }).click();
  await row.getByRole("link", { name: "Continue" }).click();
  await visitor.page.getByRole("link", { name: "Allow" }).click();
  await row.getByText("connected", { exact: true }).waitFor();
});

for (const [name, look] of looks) {
  test(`signing in to servers can be read, reached and hit: ${name}`, async (t) => {
    const { viewport, colorScheme, hasTouch } = look;
    const { visitor } = await stage.member(t, { viewport, colorScheme, hasTouch });
    await connect(visitor, notes);
    await closeToasts(visitor);
    const row = visitor.connection("notes");
    await row.getByRole("button", { name: "Sign in to notes" }).waitFor();
    await inspect(visitor, "sign-in-needed", look);
    await row.getByRole("button", { name: "Sign in to notes" }).click();
    await row.getByRole("link", { name: "Continue" }).waitFor();
    await inspect(visitor, "sign-in-leads", look);
    await row.getByRole("button", { name: "Cancel" }).click();
    await decide(visitor, notes, "Allow");
    await row.getByText("You're signed in to this server.").waitFor();
    await closeToasts(visitor);
    await inspect(visitor, "sign-in-done", look);
    await visitor.removeConnection("notes");
    await closeToasts(visitor);

    await connect(visitor, strict);
    await closeToasts(visitor);
    await row.getByRole("button", { name: "Sign in to notes" }).click();
    await visitor.field("Client ID").waitFor();
    await inspect(visitor, "sign-in-client", look);

    const waiting = await afterTheEnd(t, { viewport, colorScheme, hasTouch });
    await inspect(waiting, "sign-in-paused", look);
    await wish(waiting).getByRole("button", { name: "Sign in to notes" }).click();
    await wish(waiting).getByRole("link", { name: "Continue" }).waitFor();
    await inspect(waiting, "sign-in-paused-leads", look);
  });
}
