import assert from "node:assert/strict";
import { after, test } from "node:test";
import { say } from "./scripted-model.ts";
import { serveTools } from "./scripted-mcp.ts";
import { startFixture } from "./fixture.ts";
import { eventually } from "./app-page.ts";

const fixture = await startFixture();
const two = await serveTools([{ name: "one" }, { name: "another" }]);
const single = await serveTools([{ name: "third" }]);
after(() => {
  two.stop();
  single.stop();
});

const noTools = "To access Google Drive, please connect to an MCP server in the 'MCP Servers' tab first.";

test("the header shows the title, the tagline, the e-mail and the three tabs, Chat first", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await appPage.page.getByRole("heading", { name: "AI Chat MCP", exact: true }).waitFor();
  await appPage.sees("Connect to MCP servers and chat with AI");
  await appPage.sees(account.email);
  await appPage.button("Sign Out").waitFor();
  await appPage.tab("Tools").waitFor();
  const tabs = await appPage.page.getByRole("tab").allTextContents();
  assert.deepEqual(tabs, ["Chat", "MCP Servers", "Tools (0)"]);
  assert.equal(await appPage.tab("Chat").getAttribute("aria-selected"), "true");
  await appPage.page.getByRole("heading", { name: "AI Assistant" }).waitFor();
  for (const name of ["MCP Servers", "Tools", "Chat"] as const) {
    await appPage.openTab(name);
    await appPage.page.getByRole("tabpanel", { name }).waitFor();
    assert.equal(await appPage.page.getByRole("tabpanel").count(), 1, "one panel at a time");
  }
});

test("with no chat yet, one called New Chat is made", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await appPage.button("Chats (1)").waitFor();
  const rows = await account.call<{ title: string; user_id: string }[]>("/rest/v1/ai_chat_sessions?select=*");
  assert.deepEqual(
    rows.map((row) => [row.title, row.user_id]),
    [["New Chat", account.session.user.id]],
  );
});

test("the chat with the latest change is open at first, and its messages are there", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const older = await account.newChat();
  await account.newChat();
  fixture.model.answer(say("I am back."));
  await account.say(older, "The older one");
  await appPage.open();
  await appPage.questions.getByText("The older one").waitFor();
  await appPage.answers.getByText("I am back.").waitFor();
  const dropdown = await appPage.openChats();
  await dropdown.getByText("Recent Chats", { exact: true }).waitFor();
  const names = await dropdown.getByRole("listitem").locator("button", { hasText: /./u }).allInnerTexts();
  assert.deepEqual(
    names.map((name) => name.split("\n")[0]),
    ["The older one", "New Chat"],
  );
});

test("what is written while a new chat opens is for the new one", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await appPage.ask("First");
  await appPage.answered();
  await appPage.composer.fill("A draft. ");
  let create = () => {};
  await appPage.page.route("**/rest/v1/ai_chat_sessions*", async (route) => {
    if (route.request().method() === "POST") await new Promise<void>((resolve) => (create = resolve));
    await route.continue();
  });
  await appPage.newChat.click();
  await appPage.composer.press("End");
  await appPage.composer.pressSequentially("Second one");
  fixture.model.answer(say("For the new chat."));
  await appPage.submit();
  create();
  await appPage.answers.getByText("For the new chat.").waitFor();
  assert.deepEqual(await appPage.questions.getByText("Second one", { exact: true }).count(), 1);
  assert.equal(await appPage.composer.inputValue(), "");
  const dropdown = await appPage.openChats();
  await dropdown.getByText("First").click();
  await appPage.questions.getByText("First", { exact: true }).waitFor();
  assert.equal(await appPage.questions.count(), 1);
  assert.equal(await appPage.composer.inputValue(), "A draft. ");
});

test("chats are begun, counted, opened and deleted, but the only one has no delete control", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await appPage.ask("First chat");
  await appPage.answered();
  await appPage.button("Chats (1)").waitFor();
  await appPage.openChats();
  assert.equal(await appPage.button(/^Delete /u).count(), 0);
  await appPage.page.keyboard.press("Escape");

  await appPage.newChat.click();
  await appPage.button("Chats (2)").waitFor();
  assert.equal(await appPage.questions.count(), 0, "a new chat is empty");
  await appPage.ask("Second chat");
  await appPage.answered();

  let dropdown = await appPage.openChats();
  assert.equal(await appPage.button(/^Delete /u).count(), 2);
  await dropdown.getByRole("button", { name: /^First chat/u }).click();
  await appPage.questions.getByText("First chat").waitFor();

  dropdown = await appPage.openChats();
  await dropdown.getByRole("button", { name: "Delete First chat", exact: true }).click();
  await appPage.questions.getByText("Second chat").waitFor();
  await appPage.button("Chats (1)").waitFor();
  await appPage.page.reload();
  await appPage.button("Chats (1)").waitFor();
  await appPage.questions.getByText("Second chat").waitFor();
});

test("deleting the open chat opens the first of the others, and deleting another one leaves it open", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  for (const title of ["Fourth", "Third", "Second", "First"]) await account.newChat(title);
  const open = (title: string) => appPage.page.getByRole("region", { name: title, exact: true }).waitFor();
  const remove = async (title: string, left: number) => {
    const dropdown = await appPage.openChats();
    await dropdown.getByRole("button", { name: `Delete ${title}`, exact: true }).click();
    await appPage.button(`Chats (${left})`).waitFor();
  };
  await appPage.open();
  await open("First");
  const dropdown = await appPage.openChats();
  await dropdown.getByRole("button", { name: /^Third/u }).click();
  await open("Third");
  await remove("Second", 3);
  await open("Third");
  await remove("Third", 2);
  await open("First");
});

test("when the last chat is gone, a new one is made", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const gone = await account.newChat("Gone soon");
  await appPage.open();
  await appPage.page.getByRole("region", { name: "Gone soon" }).waitFor();
  const path = `${fixture.app.url}/rest/v1/ai_chat_sessions?id=eq.${gone}`;
  await fetch(path, { method: "DELETE", headers: account.headers });
  await appPage.page.getByRole("region", { name: "New Chat" }).waitFor();
  const rows = await account.call<{ title: string }[]>("/rest/v1/ai_chat_sessions?select=title");
  assert.deepEqual(rows, [{ title: "New Chat" }]);
});

test("the first message names the chat: 30 characters, and dots when it is longer", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.newChat("A name of its own");
  await appPage.open();
  await appPage.ask("This message is thirty letters");
  await appPage.answered();
  await appPage.page.getByRole("region", { name: "This message is thirty letters", exact: true }).waitFor();
  await appPage.newChat.click();
  await appPage.button("Chats (2)").waitFor();
  await appPage.ask("This message is thirty letters.");
  await appPage.answered();
  await appPage.ask("A later message changes nothing");
  await eventually(async () => assert.equal(await appPage.answers.count(), 2));
  await appPage.answered();
  await appPage.page
    .getByRole("region", { name: "This message is thirty letters...", exact: true })
    .waitFor();
  await appPage.newChat.click();
  await appPage.button("Chats (3)").waitFor();
  await appPage.ask("🚲".repeat(31));
  await appPage.answered();
  await account.say(await account.newChat("Named by hand"), "  Its first words  ");
  const rows = await account.call<{ title: string }[]>(
    "/rest/v1/ai_chat_sessions?select=title&order=updated_at.desc",
  );
  assert.deepEqual(
    rows.map(({ title }) => title),
    [
      "Its first words",
      `${"🚲".repeat(30)}...`,
      "This message is thirty letters...",
      "This message is thirty letters",
    ],
  );
});

test("up to three tools have a button above the input, and the rest is counted", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await appPage.composer.waitFor();
  assert.equal(await appPage.button(/^(one|another|current_time)$/u).count(), 0);
  await account.connect("two", two.url);
  await appPage.button("another").waitFor();
  await account.connect("single", single.url);
  await appPage.button("third").waitFor();
  await appPage.seesNo(/more tools/u);
  await account.connectToolbox();
  await appPage.sees("+5 more tools");
  assert.deepEqual(await appPage.button(/^(one|another|third|current_time|calculate)$/u).allInnerTexts(), [
    "one",
    "another",
    "third",
  ]);
  await appPage.button("another").click();
  assert.equal(await appPage.composer.inputValue(), "Use another to ");
});

test("words for files are held back until a tool is there, and stay in the input", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await appPage.ask("Is a file or a document enough?");
  await appPage.answered();
  const asked = fixture.model.requests.length;
  const words = ["my DRIVE", "Google Drive", "WorkCover", "that Folder", "the files", "DOCUMENTS"];
  for (const word of words) {
    await appPage.ask(`Show ${word} please`);
    await appPage.toast("No MCP Tools Connected", noTools);
    assert.equal(await appPage.composer.inputValue(), `Show ${word} please`);
    await appPage.toasts.getByRole("button", { name: "Close" }).first().click();
    await eventually(async () => assert.equal(await appPage.toasts.count(), 0));
  }
  assert.equal(await appPage.questions.count(), 1);
  assert.equal(fixture.model.requests.length, asked, "nothing was sent");
  await account.connectToolbox();
  await appPage.button("calculate").waitFor();
  await appPage.composer.press("Enter");
  await appPage.answered();
  await appPage.questions.getByText("Show DOCUMENTS please").waitFor();
});

test("a message waits until the tools are known that it goes out with", async (t) => {
  const cases = [
    { question: "Where are my files?", connected: true, taken: true },
    { question: "Where are my files?", connected: false, taken: false },
    { question: "What is 2 times 3?", connected: true, taken: true },
    { question: "What is 2 times 3?", connected: false, taken: true },
  ];
  for (const { question, connected, taken } of cases) {
    const { account, appPage } = await fixture.openSignedInPage(t);
    if (connected) await account.connectToolbox();
    const held = Promise.withResolvers<void>();
    await appPage.page.route("**/rest/v1/mcp_servers*", async (route) => {
      await held.promise;
      await route.continue();
    });
    await appPage.open();
    await appPage.ask(question);
    assert.equal(await appPage.composer.inputValue(), question);
    held.resolve();
    if (taken) await appPage.answered();
    else await appPage.toast("No MCP Tools Connected", noTools);
    assert.equal(await appPage.composer.inputValue(), taken ? "" : question);
    if (!taken) continue;
    const offered = (fixture.model.requests.at(-1)?.tools ?? []).map((tool) => tool.function.name);
    assert.equal(offered.includes("calculate"), connected);
  }
});

test("Enter sends, Shift and Enter break the line, and blank text is never sent", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  let sent = 0;
  appPage.page.on("request", (request) => {
    if (request.url().endsWith("/functions/v1/ai-chat")) sent++;
  });
  await appPage.open();
  assert.equal(await appPage.composer.getAttribute("placeholder"), "Ask me anything...");
  assert.ok(await appPage.send.isDisabled());
  await appPage.composer.fill("  \n ");
  assert.ok(await appPage.send.isDisabled(), "blank");
  await appPage.composer.press("Enter");
  await appPage.composer.fill("");
  await appPage.composer.pressSequentially("one");
  await appPage.composer.press("Shift+Enter");
  await appPage.composer.pressSequentially("two");
  assert.equal(await appPage.composer.inputValue(), "one\ntwo");
  assert.equal(sent, 0);
  await appPage.composer.press("Enter");
  await appPage.answered();
  assert.equal(sent, 1);
  assert.equal(await appPage.questions.locator("p").innerText(), "one\ntwo");
  assert.equal(await appPage.composer.inputValue(), "");
  assert.ok(await appPage.composer.evaluate((field) => field === document.activeElement));
  await appPage.composer.fill("by the button");
  await appPage.send.click();
  await appPage.questions.getByText("by the button").waitFor();
});

test("what was typed is kept for each chat and through a reload", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.newChat("Other");
  const chat = await account.newChat("This");
  await appPage.open(`/?c=${chat}`);
  await appPage.composer.fill("half a thought");
  const dropdown = await appPage.openChats();
  await dropdown.getByRole("button", { name: /^Other/u }).click();
  await eventually(async () => assert.equal(await appPage.composer.inputValue(), ""));
  await appPage.open(`/?c=${chat}`);
  await eventually(async () => assert.equal(await appPage.composer.inputValue(), "half a thought"));
});
