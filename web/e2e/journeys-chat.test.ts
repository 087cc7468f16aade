import assert from "node:assert/strict";
import { after, test } from "node:test";
import { say } from "./scripted-model.ts";
import { serveTools } from "./scripted-mcp.ts";
import { openStage } from "./stage.ts";
import { eventually } from "./visitor.ts";

const stage = await openStage();
const two = await serveTools([{ name: "one" }, { name: "another" }]);
const single = await serveTools([{ name: "third" }]);
after(() => {
  two.stop();
  single.stop();
});

const noTools = "To access Google Drive, please connect to an MCP server in the 'MCP Servers' tab first.";

test("the header shows the title, the tagline, the e-mail and the three tabs, Chat first", async (t) => {
  const { account, visitor } = await stage.member(t);
  await visitor.open();
  await visitor.page.getByRole("heading", { name: "AI Chat MCP", exact: true }).waitFor();
  await visitor.sees("Connect to MCP servers and chat with AI");
  await visitor.sees(account.email);
  await visitor.button("Sign Out").waitFor();
  await visitor.tab("Tools").waitFor();
  const tabs = await visitor.page.getByRole("tab").allTextContents();
  assert.deepEqual(tabs, ["Chat", "MCP Servers", "Tools (0)"]);
  assert.equal(await visitor.tab("Chat").getAttribute("aria-selected"), "true");
  await visitor.page.getByRole("heading", { name: "AI Assistant" }).waitFor();
  for (const name of ["MCP Servers", "Tools", "Chat"] as const) {
    await visitor.openTab(name);
    await visitor.page.getByRole("tabpanel", { name }).waitFor();
    assert.equal(await visitor.page.getByRole("tabpanel").count(), 1, "one panel at a time");
  }
});

test("with no chat yet, one called New Chat is made", async (t) => {
  const { account, visitor } = await stage.member(t);
  await visitor.open();
  await visitor.button("Chats (1)").waitFor();
  const rows = await account.call<{ title: string; user_id: string }[]>("/rest/v1/ai_chat_sessions?select=*");
  assert.deepEqual(
    rows.map((row) => [row.title, row.user_id]),
    [["New Chat", account.session.user.id]],
  );
});

test("the chat with the latest change is open at first, and its messages are there", async (t) => {
  const { account, visitor } = await stage.member(t);
  const older = await account.newChat();
  await account.newChat();
  stage.model.answer(say("I am back."));
  await account.say(older, "The older one");
  await visitor.open();
  await visitor.questions.getByText("The older one").waitFor();
  await visitor.answers.getByText("I am back.").waitFor();
  const dropdown = await visitor.openChats();
  await dropdown.getByText("Recent Chats", { exact: true }).waitFor();
  const names = await dropdown.getByRole("listitem").locator("button:first-child").allInnerTexts();
  assert.deepEqual(
    names.map((name) => name.split("\n")[0]),
    ["The older one", "New Chat"],
  );
});

test("chats are begun, counted, opened and deleted, but the only one has no delete control", async (t) => {
  const { visitor } = await stage.member(t);
  await visitor.open();
  await visitor.ask("First chat");
  await visitor.answered();
  await visitor.button("Chats (1)").waitFor();
  await visitor.openChats();
  assert.equal(await visitor.button(/^Delete /u).count(), 0);
  await visitor.page.keyboard.press("Escape");

  await visitor.button("New Chat").click();
  await visitor.button("Chats (2)").waitFor();
  assert.equal(await visitor.questions.count(), 0, "a new chat is empty");
  await visitor.ask("Second chat");
  await visitor.answered();

  let dropdown = await visitor.openChats();
  assert.equal(await visitor.button(/^Delete /u).count(), 2);
  await dropdown.getByRole("button", { name: /^First chat/u }).click();
  await visitor.questions.getByText("First chat").waitFor();

  dropdown = await visitor.openChats();
  await dropdown.getByRole("button", { name: "Delete First chat", exact: true }).click();
  await visitor.questions.getByText("Second chat").waitFor();
  await visitor.button("Chats (1)").waitFor();
  await visitor.page.reload();
  await visitor.button("Chats (1)").waitFor();
  await visitor.questions.getByText("Second chat").waitFor();
});

test("deleting the open chat opens the first of the others, and deleting another one leaves it open", async (t) => {
  const { account, visitor } = await stage.member(t);
  for (const title of ["Fourth", "Third", "Second", "First"]) await account.newChat(title);
  const open = (title: string) => visitor.page.getByRole("region", { name: title, exact: true }).waitFor();
  const remove = async (title: string, left: number) => {
    const dropdown = await visitor.openChats();
    await dropdown.getByRole("button", { name: `Delete ${title}`, exact: true }).click();
    await visitor.button(`Chats (${left})`).waitFor();
  };
  await visitor.open();
  await open("First");
  const dropdown = await visitor.openChats();
  await dropdown.getByRole("button", { name: /^Third/u }).click();
  await open("Third");
  await remove("Second", 3);
  await open("Third");
  await remove("Third", 2);
  await open("First");
});

test("when the last chat is gone, a new one is made", async (t) => {
  const { account, visitor } = await stage.member(t);
  const gone = await account.newChat("Gone soon");
  await visitor.open();
  await visitor.page.getByRole("region", { name: "Gone soon" }).waitFor();
  const path = `${stage.app.url}/rest/v1/ai_chat_sessions?id=eq.${gone}`;
  await fetch(path, { method: "DELETE", headers: account.headers });
  await visitor.page.getByRole("region", { name: "New Chat" }).waitFor();
  const rows = await account.call<{ title: string }[]>("/rest/v1/ai_chat_sessions?select=title");
  assert.deepEqual(rows, [{ title: "New Chat" }]);
});

test("the first message names the chat: 30 characters, and dots when it is longer", async (t) => {
  const { account, visitor } = await stage.member(t);
  await account.newChat("A name of its own");
  await visitor.open();
  await visitor.ask("This message is thirty letters");
  await visitor.answered();
  await visitor.page.getByRole("region", { name: "This message is thirty letters", exact: true }).waitFor();
  await visitor.button("New Chat").click();
  await visitor.button("Chats (2)").waitFor();
  await visitor.ask("This message is thirty letters.");
  await visitor.answered();
  await visitor.ask("A later message changes nothing");
  await eventually(async () => assert.equal(await visitor.answers.count(), 2));
  await visitor.answered();
  await visitor.page
    .getByRole("region", { name: "This message is thirty letters...", exact: true })
    .waitFor();
  await visitor.button("New Chat").click();
  await visitor.button("Chats (3)").waitFor();
  await visitor.ask("🚲".repeat(31));
  await visitor.answered();
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
  const { account, visitor } = await stage.member(t);
  await visitor.open();
  await visitor.composer.waitFor();
  assert.equal(await visitor.button(/^(one|another|current_time)$/u).count(), 0);
  await account.connect("two", two.url);
  await visitor.button("another").waitFor();
  await account.connect("single", single.url);
  await visitor.button("third").waitFor();
  await visitor.seesNo(/more tools/u);
  await account.connectToolbox();
  await visitor.sees("+5 more tools");
  assert.deepEqual(await visitor.button(/^(one|another|third|current_time|calculate)$/u).allInnerTexts(), [
    "one",
    "another",
    "third",
  ]);
  await visitor.button("another").click();
  assert.equal(await visitor.composer.inputValue(), "Use another to ");
});

test("words for files are held back until a tool is there, and stay in the input", async (t) => {
  const { account, visitor } = await stage.member(t);
  await visitor.open();
  await visitor.ask("Is a file or a document enough?");
  await visitor.answered();
  const asked = stage.model.requests.length;
  const words = ["my DRIVE", "Google Drive", "WorkCover", "that Folder", "the files", "DOCUMENTS"];
  for (const word of words) {
    await visitor.ask(`Show ${word} please`);
    await visitor.toast("No MCP Tools Connected", noTools);
    assert.equal(await visitor.composer.inputValue(), `Show ${word} please`);
    await visitor.toasts.getByRole("button", { name: "Close" }).first().click();
    await eventually(async () => assert.equal(await visitor.toasts.count(), 0));
  }
  assert.equal(await visitor.questions.count(), 1);
  assert.equal(stage.model.requests.length, asked, "nothing was sent");
  await account.connectToolbox();
  await visitor.button("calculate").waitFor();
  await visitor.composer.press("Enter");
  await visitor.answered();
  await visitor.questions.getByText("Show DOCUMENTS please").waitFor();
});

test("a message waits until the tools are known that it goes out with", async (t) => {
  const cases = [
    { question: "Where are my files?", connected: true, taken: true },
    { question: "Where are my files?", connected: false, taken: false },
    { question: "What is 2 times 3?", connected: true, taken: true },
    { question: "What is 2 times 3?", connected: false, taken: true },
  ];
  for (const { question, connected, taken } of cases) {
    const { account, visitor } = await stage.member(t);
    if (connected) await account.connectToolbox();
    const held = Promise.withResolvers<void>();
    await visitor.page.route("**/rest/v1/mcp_servers*", async (route) => {
      await held.promise;
      await route.continue();
    });
    await visitor.open();
    await visitor.ask(question);
    assert.equal(await visitor.composer.inputValue(), question);
    held.resolve();
    if (taken) await visitor.answered();
    else await visitor.toast("No MCP Tools Connected", noTools);
    assert.equal(await visitor.composer.inputValue(), taken ? "" : question);
    if (!taken) continue;
    const offered = (stage.model.requests.at(-1)?.tools ?? []).map((tool) => tool.function.name);
    assert.equal(offered.includes("calculate"), connected);
  }
});

test("Enter sends, Shift and Enter break the line, and blank text is never sent", async (t) => {
  const { visitor } = await stage.member(t);
  let sent = 0;
  visitor.page.on("request", (request) => {
    if (request.url().endsWith("/functions/v1/ai-chat")) sent++;
  });
  await visitor.open();
  assert.equal(await visitor.composer.getAttribute("placeholder"), "Ask me anything...");
  assert.ok(await visitor.send.isDisabled());
  await visitor.composer.fill("  \n ");
  assert.ok(await visitor.send.isDisabled(), "blank");
  await visitor.composer.press("Enter");
  await visitor.composer.fill("");
  await visitor.composer.pressSequentially("one");
  await visitor.composer.press("Shift+Enter");
  await visitor.composer.pressSequentially("two");
  assert.equal(await visitor.composer.inputValue(), "one\ntwo");
  assert.equal(sent, 0);
  await visitor.composer.press("Enter");
  await visitor.answered();
  assert.equal(sent, 1);
  assert.equal(await visitor.questions.locator("p").innerText(), "one\ntwo");
  assert.equal(await visitor.composer.inputValue(), "");
  assert.ok(await visitor.composer.evaluate((field) => field === document.activeElement));
  await visitor.composer.fill("by the button");
  await visitor.send.click();
  await visitor.questions.getByText("by the button").waitFor();
});

test("what was typed is kept for each chat and through a reload", async (t) => {
  const { account, visitor } = await stage.member(t);
  await account.newChat("Other");
  const chat = await account.newChat("This");
  await visitor.open(`/?c=${chat}`);
  await visitor.composer.fill("half a thought");
  const dropdown = await visitor.openChats();
  await dropdown.getByRole("button", { name: /^Other/u }).click();
  await eventually(async () => assert.equal(await visitor.composer.inputValue(), ""));
  await visitor.open(`/?c=${chat}`);
  await eventually(async () => assert.equal(await visitor.composer.inputValue(), "half a thought"));
});
