import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { focusedName } from "./look.ts";
import { call, say } from "./scripted-model.ts";
import { Settings } from "./settings.ts";
import { startFixture } from "./fixture.ts";
import { eventually, type AppPage } from "./app-page.ts";

const fixture = await startFixture();

const region = (appPage: AppPage, title: string) =>
  appPage.page.getByRole("region", { name: title, exact: true });

async function more(appPage: AppPage, title: string, act: string): Promise<void> {
  const dropdown = await appPage.openChats();
  await dropdown.getByRole("button", { name: `More for ${title}`, exact: true }).click();
  await appPage.menuItem(act).click();
}

test("a chat is found by its words as they are typed, and opens at the message with the words painted", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const long = await account.newChat("Long talk");
  const texts = Array.from({ length: 2_000 }, (_, index) => `Line number ${index}`);
  texts[700] = "Where did we hide the green umbrella?";
  await account.fill(long, texts);
  await account.newChat("Umbrellas and coats");
  // So many at once are read in the background.
  await eventually(async () => {
    const { messages } = await account.call<{ messages: unknown[] }>("/api/search?q=umbrella");
    assert.equal(messages.length, 1);
  });
  await appPage.open();
  await region(appPage, "Umbrellas and coats").waitFor();
  const dropdown = await appPage.openChats();
  const field = dropdown.getByRole("searchbox", { name: "Search chats" });
  await field.fill("green umbr");
  const hit = dropdown.getByRole("button", { name: /green umbrella/u });
  await hit.waitFor();
  assert.deepEqual(await hit.locator("mark").allTextContents(), ["green", "umbrella"]);
  await field.fill("umbrella");
  await dropdown.getByRole("group", { name: "Chats", exact: true }).getByRole("button").waitFor();
  await field.press("ArrowDown");
  await appPage.page.keyboard.press("ArrowDown");
  await appPage.page.keyboard.press("Enter");

  await region(appPage, "Long talk").waitFor();
  const message = appPage.questions.filter({ hasText: "green umbrella" });
  await message.waitFor();
  await eventually(async () => assert.ok(await isInSight(appPage, "green umbrella")));
  assert.ok(await message.evaluate((row) => row === document.activeElement), "the keyboard is there, too");
  const painted = await appPage.page.evaluate(() => [...(CSS.highlights.get("found") ?? [])].map(String));
  assert.deepEqual(painted, ["umbrella"]);
  const rows = await appPage.page.getByRole("article").count();
  assert.ok(rows <= 150, `${rows} of 2,000 messages are mounted`);
});

/** Returns true if the message with this text is within the visible transcript. */
function isInSight(appPage: AppPage, words: string): Promise<boolean> {
  return appPage.page.evaluate((text) => {
    const row = [...document.querySelectorAll("article")].find((one) => one.textContent.includes(text));
    const frame = document.querySelector("[role=group][aria-label=Conversation]")?.getBoundingClientRect();
    const box = row?.getBoundingClientRect();
    return box !== undefined && frame !== undefined && box.top >= frame.top && box.bottom <= frame.bottom;
  }, words);
}

test("2,000 messages open with few of them mounted, and scrolling reaches the first", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const chat = await account.newChat("Very long");
  await account.fill(
    chat,
    Array.from({ length: 2_000 }, (_, index) => `Line number ${index}`),
  );
  await appPage.open();
  await appPage.answers.getByText("Line number 1999", { exact: true }).waitFor();
  assert.ok((await appPage.page.getByRole("article").count()) <= 60);
  assert.ok((await appPage.page.locator("*").count()) <= 3_000);
  const scroller = appPage.page.getByRole("group", { name: "Conversation" });
  await eventually(async () => {
    await scroller.evaluate((frame) => (frame.scrollTop = 0));
    assert.ok(await appPage.questions.getByText("Line number 1800", { exact: true }).isVisible());
  });
  assert.ok((await appPage.page.getByRole("article").count()) <= 150);
});

test("an early message that was found is changed in sight, and a window that stands there follows", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const chat = await account.newChat("Long talk");
  await account.fill(
    chat,
    Array.from({ length: 200 }, (_, index) => `Line ${index} of many`),
  );
  const localStorage = [(await account.again()).stored];
  const other = await fixture.openPage(t, {
    storageState: { cookies: [], origins: [{ origin: fixture.app.url, localStorage }] },
  });
  for (const window of [appPage, other]) {
    await window.open();
    await region(window, "Long talk").waitFor();
    const dropdown = await window.openChats();
    await dropdown.getByRole("searchbox", { name: "Search chats" }).fill('"line 20 of"');
    await dropdown.getByRole("button", { name: /Line 20 of/u }).click();
    await eventually(async () => assert.ok(await isInSight(window, "Line 20 of many")));
  }
  const found = appPage.questions.filter({ hasText: "Line 20 of many" });
  // Scrolling at the start of what is mounted is as good as a wish for more of it.
  await appPage.page.mouse.move(600, 400);
  await appPage.page.mouse.wheel(0, -5_000);
  await appPage.questions.filter({ hasText: "Line 0 of many" }).waitFor();
  await found.getByRole("button", { name: "Edit message" }).click();
  const field = appPage.page.getByRole("textbox", { name: "Your message" });
  await field.fill("Another line");
  fixture.model.answer(say("As you like."));
  await field.press("Enter");
  for (const window of [appPage, other]) {
    await window.answers.getByText("As you like.", { exact: true }).waitFor();
    await eventually(async () => assert.ok(await isInSight(window, "Another line")));
  }
});

test("words of scripts that are read from the right begin at the right", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const chat = await account.newChat("مرحبا بالعالم");
  await account.fill(chat, ["كيف حالك؟", "بخير\n\n- واحد\n- اثنان\n\nAnd in English"]);
  await appPage.open();
  const directions = (selector: string) =>
    appPage.page.locator(selector).evaluateAll((all) => all.map((one) => getComputedStyle(one).direction));
  await appPage.answers.getByText("واحد").waitFor();
  assert.deepEqual(await directions("article[data-role=user] p"), ["rtl"]);
  assert.deepEqual(await directions("article[data-role=assistant] ul"), ["rtl"]);
  const english = appPage.answers.getByText("And in English");
  const begins = await english.evaluate((line) => {
    const range = document.createRange();
    range.selectNodeContents(line);
    return range.getBoundingClientRect().left - line.getBoundingClientRect().left;
  });
  assert.equal(Math.round(begins), 0, "a line in another script begins where it does");
  await appPage.openChats();
  const title = appPage.page.getByRole("dialog", { name: "Recent Chats" }).getByText("مرحبا بالعالم");
  assert.equal(await title.evaluate((one) => getComputedStyle(one).direction), "rtl");
});

test("chats are renamed, pinned and archived with the keyboard, and stand in groups by their age", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const old = await account.newChat("Old one");
  const response = await fetch(`${fixture.app.url}/rest/v1/ai_chat_sessions?id=eq.${old}`, {
    method: "PATCH",
    headers: { ...account.headers, "content-type": "application/json" },
    body: JSON.stringify({ updated_at: "2020-03-04T00:00:00Z" }),
  });
  assert.equal(response.status, 204);
  await account.newChat("Second");
  await account.newChat("First");
  await appPage.open();
  await appPage.button("Chats (3)").waitFor();
  const dropdown = await appPage.openChats();
  const groups = () => dropdown.getByRole("heading", { level: 4 }).allTextContents();
  assert.deepEqual(await groups(), ["Today", "March 2020"]);

  const press = async (name: string) => {
    await dropdown.getByRole("button", { name, exact: true }).focus();
    await appPage.page.keyboard.press("Enter");
  };
  /** Finds an action by its first letter, as a menu's keyboard allows. */
  const choose = async (name: string) => {
    await appPage.menuItem(name).waitFor();
    await appPage.page.keyboard.type(name.slice(0, 1));
    await eventually(async () => assert.equal(await focusedName(appPage), name));
    await appPage.page.keyboard.press("Enter");
  };
  await press("More for Second");
  await choose("Rename");
  await dropdown.getByRole("textbox", { name: "Chat title" }).waitFor();
  await appPage.page.keyboard.type("A better name");
  await appPage.page.keyboard.press("Enter");
  await dropdown.getByRole("button", { name: /^A better name/u }).waitFor();
  await press("More for Old one");
  await choose("Pin");
  await eventually(async () => assert.deepEqual(await groups(), ["Pinned", "Today"]));
  await press("More for First");
  await choose("Archive");
  await appPage.button("Chats (2)").waitFor();
  await dropdown.getByText("Archived (1)").waitFor();

  await appPage.page.reload();
  await appPage.button("Chats (2)").waitFor();
  await region(appPage, "A better name").waitFor();
  await appPage.openChats();
  assert.deepEqual(await groups(), ["Pinned", "Today"]);
  await dropdown.getByText("Archived (1)").click();
  await press("More for First");
  await choose("Unarchive");
  await appPage.button("Chats (3)").waitFor();
});

test("a deleted chat comes back with Undo, as it was", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const kept = await account.newChat("Kept");
  const gone = await account.newChat("Deleted by mistake");
  await account.fill(gone, ["What was said", "And answered"]);
  await appPage.open();
  await region(appPage, "Deleted by mistake").waitFor();
  const dropdown = await appPage.openChats();
  await dropdown.getByRole("button", { name: "Delete Deleted by mistake", exact: true }).click();
  await region(appPage, "Kept").waitFor();
  const ids = async () =>
    (await account.call<{ id: string }[]>("/rest/v1/ai_chat_sessions?select=id")).map(({ id }) => id);
  assert.deepEqual(await ids(), [kept]);
  await appPage.toast("Chat deleted", "Deleted by mistake");
  await appPage.button("Undo").click();
  await region(appPage, "Deleted by mistake").waitFor();
  await appPage.questions.getByText("What was said").waitFor();
  assert.deepEqual((await ids()).toSorted(), [kept, gone].toSorted());
});

test("a shared chat is read by anybody with the link, until it is taken down", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connect("my-tools", `${fixture.app.url}/mcp/toolbox`);
  const chat = await account.newChat();
  fixture.model.answer(call("calculate", { expression: "41 + 1" }));
  fixture.model.answer(say("It is **42**. <script>alert(1)</script>"));
  await appPage.open();
  await appPage.ask("Add them");
  await appPage.answered();
  await more(appPage, "Add them", "Share");
  await appPage.button("Create link").click();
  const link = await appPage.field("Link to the chat").inputValue();
  assert.ok(link.includes("/?share="), link);
  assert.ok(!JSON.stringify(await account.call("/api/shares")).includes(link.split("=")[1] ?? "?"));

  const reader = await fixture.openPage(t);
  const path = new URL(link).search;
  const answer = await reader.page.goto(`/${path}`);
  assert.match(answer?.headers()["x-robots-tag"] ?? "", /noindex/u);
  await reader.page.getByRole("heading", { name: "Add them", level: 1 }).waitFor();
  await reader.page.getByRole("article", { name: "Answered" }).getByText("42").waitFor();
  await reader.sees("Used calculate");
  await reader.page.getByText("<script>alert(1)</script>").waitFor();
  assert.equal(await reader.page.getByText("41 + 1").count(), 0);
  assert.equal(await reader.page.getByText("my-tools").count(), 0);

  await appPage.page.keyboard.press("Escape");
  await Settings.open(appPage, "Data");
  await appPage.button("Stop sharing Add them").click();
  await appPage.toast("No longer shared", "Add them");
  await reader.page.reload();
  await reader.sees("This chat is no longer shared");
  assert.equal(
    await account
      .call<unknown[]>(`/rest/v1/ai_chat_messages?session_id=eq.${chat}`)
      .then((rows) => rows.length),
    2,
  );
});

test("chats go out as files and come in again, also from ChatGPT", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const chat = await account.newChat("Going places");
  await account.fill(chat, ["Where to?", "To **Lisbon**."]);
  await appPage.open();
  const downloaded = async (act: () => Promise<void>) => {
    const [download] = await Promise.all([appPage.page.waitForEvent("download"), act()]);
    return readFile(await download.path(), "utf8");
  };
  const document = await downloaded(() => more(appPage, "Going places", "Download as Markdown"));
  assert.match(document, /^# Going places\n[^]*## You, [^]*Where to\?[^]*To \*\*Lisbon\*\*\.\n$/u);
  const file = await downloaded(() => more(appPage, "Going places", "Download as JSON"));
  await fetch(`${fixture.app.url}/rest/v1/ai_chat_sessions?id=eq.${chat}`, {
    method: "DELETE",
    headers: account.headers,
  });
  await region(appPage, "New Chat").waitFor();

  await appPage.page.keyboard.press("Escape");
  await Settings.open(appPage, "Data");
  const bring = async (content: string) => {
    const chooser = appPage.page.waitForEvent("filechooser");
    await appPage.button("Choose file").click();
    const buffer = Buffer.from(content);
    await (await chooser).setFiles({ name: "chats.json", mimeType: "application/json", buffer });
  };
  await bring(file);
  await appPage.sees("1 chat imported");
  await bring(file);
  await appPage.toast("No new chats", "1 already existed.");
  const node = (role: string, text: string, parent: string) => ({
    parent,
    children: [],
    message: { author: { role }, content: { content_type: "text", parts: [text] } },
  });
  const mapping = { a: node("user", "Hello there", ""), b: node("assistant", "Good day", "a") };
  await bring(JSON.stringify([{ title: "From elsewhere", create_time: 1.7e9, mapping, current_node: "b" }]));
  await bring("PK zip");
  await appPage.toast("The file couldn't be imported", /conversations\.json/u);
  await appPage.page.keyboard.press("Escape");
  await appPage.button("Chats (3)").waitFor();
  const dropdown = await appPage.openChats();
  await dropdown.getByRole("button", { name: /^From elsewhere/u }).click();
  await appPage.answers.getByText("Good day").waitFor();
});

test("an event costs the rows of its chat, however many chats there are", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const user_id = account.session.user.id;
  // One reading gives 1,000 rows at most.
  const many = Array.from({ length: 990 }, (_, n) => ({ user_id, title: `Chat ${n}` }));
  await account.call("/rest/v1/ai_chat_sessions", many);
  // Those that the list shows at first.
  const [old, gone] = await account.call<{ id: string }[]>(
    "/rest/v1/ai_chat_sessions?select=id&order=updated_at.desc&limit=2",
  );
  const open = await account.newChat("Open");
  await appPage.open(`/?c=${open}`);
  await appPage.button("Chats (991)").waitFor();
  // An event that was heard: what is loaded when events begin to be heard has been loaded.
  await account.newChat("Heard");
  await appPage.button("Chats (992)").waitFor();

  const reads: Promise<number>[] = [];
  appPage.page.on("response", (response) => {
    if (/^\/(?:rest\/v1\/ai_chat_sessions|api\/sessions\/marks)/u.test(new URL(response.url()).pathname))
      reads.push(response.json().then((rows: unknown[]) => rows.length));
  });
  const change = async (id: string | undefined, method: string, body?: object) => {
    const response = await fetch(`${fixture.app.url}/rest/v1/ai_chat_sessions?id=eq.${id}`, {
      method,
      headers: { ...account.headers, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    assert.ok(response.ok, response.statusText);
  };
  const dropdown = await appPage.openChats();
  const row = (title: string) => dropdown.getByRole("button", { name: new RegExp(`^${title} `, "u") });
  await change(gone?.id, "DELETE");
  await appPage.button("Chats (991)").waitFor();
  await change(old?.id, "PATCH", { title: "Renamed" });
  await row("Renamed").waitFor();
  await account.call(`/api/sessions/${old?.id}/marks`, { pinned: true }, {}, "PUT");
  await dropdown
    .getByRole("group", { name: "Pinned", exact: true })
    .getByRole("button", { name: /^Renamed /u })
    .waitFor();
  fixture.model.answer(say("Hello."));
  await account.say(old?.id ?? "", "Hi");
  fixture.model.answer(say("Hello."));
  await appPage.page.keyboard.press("Escape");
  await appPage.ask("Hello");
  await appPage.answered();
  await appPage.button("Chats (991)").waitFor();
  const rows = await Promise.all(reads);
  assert.ok(rows.length > 0 && rows.length <= 9, `${rows.length} reads`);
  for (const count of rows) assert.ok(count <= 2, `${count} rows for one event`);
});
