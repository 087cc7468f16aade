import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Account, password } from "./account.ts";
import { serveTools } from "./scripted-mcp.ts";
import { startFixture } from "./fixture.ts";
import { eventually, type AppPage } from "./app-page.ts";

const fixture = await startFixture();
const post = await serveTools([
  { name: "send", description: "Sends a letter.", run: () => "It is on its way." },
]);
after(() => post.stop());

/** Everything that the browser keeps for the page, in both storages. */
const stored = ({ page }: AppPage) =>
  page.evaluate(() => JSON.stringify({ ...localStorage }) + JSON.stringify({ ...sessionStorage }));

test("the next user of a tab finds nothing of the one before", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const next = await Account.create(fixture.app.url);
  const chat = await account.newChat("Zerubbabel's chat");
  await account.fill(chat, ["Who is Zerubbabel?", "A governor of Judah."]);
  const asked: string[] = [];
  appPage.page.on("request", (request) => asked.push(new URL(request.url()).pathname));

  // Whatever of the first user the page keeps: models, a search, drafts, a form, a toast, a temporary chat.
  await appPage.open();
  await appPage.answers.getByText("A governor of Judah.").waitFor();
  await appPage.button("Model: scripted").waitFor();
  await appPage.composer.fill("A draft of Zerubbabel");
  const dropdown = await appPage.openChats();
  await dropdown.getByRole("searchbox", { name: "Search chats" }).fill("Zerubbabel");
  await dropdown
    .getByText(/^1 |^2 /u)
    .first()
    .waitFor();
  await appPage.button("New temporary chat").click();
  await appPage.composer.fill("A secret of Zerubbabel");
  await appPage.openTab("MCP Servers");
  await appPage.connect("zerubbabel-post", post.url);
  await appPage.toast("Connection Successful", /zerubbabel-post/u);
  await appPage.field("Server Name").fill("Zerubbabel's server");

  asked.length = 0;
  await appPage.pressInHeader("Sign Out");
  await appPage.arrivesAt("/auth");
  assert.deepEqual(await appPage.toasts.allTextContents(), [], "no toast of the one who has left");
  assert.doesNotMatch(await stored(appPage), /Zerubbabel/u, "no draft stays in the browser");

  await appPage.signIn(next.email, password);
  await appPage.arrivesAt("/");
  await appPage.button("Model: scripted").waitFor();
  assert.ok(asked.includes("/api/models"), "the models are asked for anew");
  await appPage.seesNo(/zerubbabel/iu);
  assert.equal(await appPage.composer.inputValue(), "");
  await appPage.seesNo("This chat isn't saved. It's deleted when you leave or reload.");
  asked.length = 0;
  const theirs = await appPage.openChats();
  await theirs.getByRole("searchbox", { name: "Search chats" }).fill("Zerubbabel");
  await eventually(() => assert.ok(asked.includes("/api/search"), "the search is asked anew"));
  await theirs.getByText(/^No results for/u).waitFor();
  await appPage.page.keyboard.press("Escape");
  await appPage.openTab("MCP Servers");
  assert.equal(await appPage.field("Server Name").inputValue(), "");
  await appPage.seesNo(/zerubbabel-post/u);
});

test("a sign-out in one tab leaves nothing in the others", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  const next = await Account.create(fixture.app.url);
  await appPage.open("/?tab=servers");
  await appPage.field("Server Name").fill("Zerubbabel's server");
  await appPage.openTab("Chat");
  await appPage.composer.fill("A draft of Zerubbabel");
  const other = await appPage.anotherTab();
  await other.open();
  await other.pressInHeader("Sign Out");
  await appPage.arrivesAt("/auth");
  await eventually(async () => assert.doesNotMatch(await stored(appPage), /Zerubbabel/u));
  await appPage.signIn(next.email, password);
  await appPage.arrivesAt("/");
  await appPage.composer.waitFor();
  assert.equal(await appPage.composer.inputValue(), "");
  await appPage.openTab("MCP Servers");
  assert.equal(await appPage.field("Server Name").inputValue(), "");
});

test("an answer that comes after the sign-out is told to nobody", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  const next = await Account.create(fixture.app.url);
  await appPage.open("/?tab=servers");
  const connecting = Promise.withResolvers<() => void>();
  await appPage.page.route("**/functions/v1/*", async (route) => {
    await new Promise<void>((resolve) => connecting.resolve(resolve));
    await route.continue().catch(() => undefined);
  });
  await appPage.connect("zerubbabel-post", post.url);
  const release = await connecting.promise;
  await appPage.pressInHeader("Sign Out");
  await appPage.arrivesAt("/auth");
  const answered = appPage.page.waitForResponse("**/functions/v1/*");
  release();
  await answered;
  await appPage.signIn(next.email, password);
  await appPage.arrivesAt("/");
  await appPage.composer.waitFor();
  await appPage.seesNo(/zerubbabel/iu);
  assert.equal(await appPage.toasts.count(), 0);
});

test("a user whose session ran out finds their draft again", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.fill(await account.newChat(), ["A question", "An answer"]);
  await appPage.open("/?tab=servers");
  await appPage.field("Server Name").fill("A long name");
  await appPage.openTab("Chat");
  await appPage.answers.first().waitFor();
  await appPage.composer.fill("Half a thought");
  await account.endSessions();
  // The page may have heard of it already.
  await appPage.page.evaluate(() => document.querySelector<HTMLElement>("[aria-label='New Chat']")?.click());
  await appPage.arrivesAt("/auth");
  await appPage.signIn(account.email, password);
  await appPage.arrivesAt("/");
  assert.equal(await appPage.composer.inputValue(), "Half a thought");
  await appPage.openTab("MCP Servers");
  assert.equal(await appPage.field("Server Name").inputValue(), "A long name");
});
