import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Account, password } from "./account.ts";
import { serveTools } from "./scripted-mcp.ts";
import { openStage } from "./stage.ts";
import { eventually, type Visitor } from "./visitor.ts";

const stage = await openStage();
const post = await serveTools([
  { name: "send", description: "Sends a letter.", run: () => "It is on its way." },
]);
after(() => post.stop());

/** Everything that the browser keeps for the page, in both storages. */
const stored = ({ page }: Visitor) =>
  page.evaluate(() => JSON.stringify({ ...localStorage }) + JSON.stringify({ ...sessionStorage }));

test("the next user of a tab finds nothing of the one before", async (t) => {
  const { account, visitor } = await stage.member(t);
  const next = await Account.create(stage.app.url);
  const chat = await account.newChat("Zerubbabel's chat");
  await account.fill(chat, ["Who is Zerubbabel?", "A governor of Judah."]);
  const asked: string[] = [];
  visitor.page.on("request", (request) => asked.push(new URL(request.url()).pathname));

  // Whatever of the first user the page keeps: models, a search, drafts, a form, a toast, a temporary chat.
  await visitor.open();
  await visitor.answers.getByText("A governor of Judah.").waitFor();
  await visitor.button("Model: scripted").waitFor();
  await visitor.composer.fill("A draft of Zerubbabel");
  const dropdown = await visitor.openChats();
  await dropdown.getByRole("searchbox", { name: "Search chats" }).fill("Zerubbabel");
  await dropdown
    .getByText(/^1 |^2 /u)
    .first()
    .waitFor();
  await visitor.button("New temporary chat").click();
  await visitor.composer.fill("A secret of Zerubbabel");
  await visitor.openTab("MCP Servers");
  await visitor.connect("zerubbabel-post", post.url);
  await visitor.toast("Connection Successful", /zerubbabel-post/u);
  await visitor.field("Server Name").fill("Zerubbabel's server");

  asked.length = 0;
  await visitor.button("Sign Out").click();
  await visitor.arrivesAt("/auth");
  assert.equal(await visitor.toasts.count(), 0, "no toast of the one who has left");
  assert.doesNotMatch(await stored(visitor), /Zerubbabel/u, "no draft stays in the browser");

  await visitor.signIn(next.email, password);
  await visitor.arrivesAt("/");
  await visitor.button("Model: scripted").waitFor();
  assert.ok(asked.includes("/api/models"), "the models are asked for anew");
  await visitor.seesNo(/zerubbabel/iu);
  assert.equal(await visitor.composer.inputValue(), "");
  await visitor.seesNo("This chat isn't saved. It's deleted when you leave or reload.");
  asked.length = 0;
  const theirs = await visitor.openChats();
  await theirs.getByRole("searchbox", { name: "Search chats" }).fill("Zerubbabel");
  await eventually(() => assert.ok(asked.includes("/api/search"), "the search is asked anew"));
  await theirs.getByText(/^No results for/u).waitFor();
  await visitor.page.keyboard.press("Escape");
  await visitor.openTab("MCP Servers");
  assert.equal(await visitor.field("Server Name").inputValue(), "");
  await visitor.seesNo(/zerubbabel-post/u);
});

test("a sign-out in one tab leaves nothing in the others", async (t) => {
  const { visitor } = await stage.member(t);
  const next = await Account.create(stage.app.url);
  await visitor.open("/?tab=servers");
  await visitor.field("Server Name").fill("Zerubbabel's server");
  await visitor.openTab("Chat");
  await visitor.composer.fill("A draft of Zerubbabel");
  const other = await visitor.anotherTab();
  await other.open();
  await other.button("Sign Out").click();
  await visitor.arrivesAt("/auth");
  await eventually(async () => assert.doesNotMatch(await stored(visitor), /Zerubbabel/u));
  await visitor.signIn(next.email, password);
  await visitor.arrivesAt("/");
  await visitor.composer.waitFor();
  assert.equal(await visitor.composer.inputValue(), "");
  await visitor.openTab("MCP Servers");
  assert.equal(await visitor.field("Server Name").inputValue(), "");
});

test("an answer that comes after the sign-out is told to nobody", async (t) => {
  const { visitor } = await stage.member(t);
  const next = await Account.create(stage.app.url);
  await visitor.open("/?tab=servers");
  const connecting = Promise.withResolvers<() => void>();
  await visitor.page.route("**/functions/v1/*", async (route) => {
    await new Promise<void>((resolve) => connecting.resolve(resolve));
    await route.continue().catch(() => undefined);
  });
  await visitor.connect("zerubbabel-post", post.url);
  const release = await connecting.promise;
  await visitor.button("Sign Out").click();
  await visitor.arrivesAt("/auth");
  const answered = visitor.page.waitForResponse("**/functions/v1/*");
  release();
  await answered;
  await visitor.signIn(next.email, password);
  await visitor.arrivesAt("/");
  await visitor.composer.waitFor();
  await visitor.seesNo(/zerubbabel/iu);
  assert.equal(await visitor.toasts.count(), 0);
});

test("a user whose session ran out finds their draft again", async (t) => {
  const { account, visitor } = await stage.member(t);
  await account.fill(await account.newChat(), ["A question", "An answer"]);
  await visitor.open("/?tab=servers");
  await visitor.field("Server Name").fill("A long name");
  await visitor.openTab("Chat");
  await visitor.answers.first().waitFor();
  await visitor.composer.fill("Half a thought");
  await account.endSessions();
  await visitor.button("New Chat").click();
  await visitor.arrivesAt("/auth");
  await visitor.signIn(account.email, password);
  await visitor.arrivesAt("/");
  assert.equal(await visitor.composer.inputValue(), "Half a thought");
  await visitor.openTab("MCP Servers");
  assert.equal(await visitor.field("Server Name").inputValue(), "A long name");
});
