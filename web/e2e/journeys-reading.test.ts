import assert from "node:assert/strict";
import { test } from "node:test";
import { call, hold, say } from "./scripted-model.ts";
import { serveTools } from "./scripted-mcp.ts";
import { openStage } from "./stage.ts";
import { eventually, type Visitor } from "./visitor.ts";

const stage = await openStage();
const viewport = { width: 1000, height: 600 };
const paragraphs = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, at) => `Paragraph ${from + at}.\n\n`).join("");

const scroller = ({ page }: Visitor) => page.getByRole("group", { name: "Conversation" });
/** How far the end of the conversation is below what is in sight, in pixels. */
const below = (visitor: Visitor) =>
  scroller(visitor).evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight);
const topOf = (visitor: Visitor, text: string) =>
  visitor.page
    .getByText(text, { exact: true })
    .evaluate((line) => Math.round(line.getBoundingClientRect().top));

test("a streaming answer is followed, a reader who scrolls up is left alone, and Jump to latest comes back", async (t) => {
  const { visitor } = await stage.member(t, { viewport });
  const [middle, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  stage.model.answer(
    say(paragraphs(0, 40)),
    hold(middle.promise),
    say(paragraphs(40, 80)),
    hold(end.promise),
    say("The end."),
  );
  await visitor.open();
  await visitor.ask("Write a lot");
  const jump = visitor.button(/^Jump to latest/u);
  await visitor.page.getByText("Paragraph 39.", { exact: true }).waitFor();
  await eventually(async () => assert.ok((await below(visitor)) <= 2));
  await scroller(visitor).hover();
  await visitor.page.mouse.wheel(0, -400);
  await jump.waitFor();
  const place = await topOf(visitor, "Paragraph 35.");
  middle.resolve();
  await visitor.page.getByText("Paragraph 79.", { exact: true }).waitFor();
  assert.equal(await topOf(visitor, "Paragraph 35."), place, "what is being read stays where it is");
  await visitor.button("Jump to latest, still writing").click();
  await eventually(async () => assert.ok((await below(visitor)) <= 2));
  end.resolve();
  await visitor.answered();
  await jump.waitFor({ state: "detached" });
});

test("a sent message stands near the top, and the answer grows below it", async (t) => {
  const { visitor } = await stage.member(t, { viewport });
  stage.model.answer(say(paragraphs(0, 30)));
  await visitor.open();
  await visitor.ask("First");
  await visitor.answered();
  const rest = Promise.withResolvers<void>();
  stage.model.answer(say("Just a line."), hold(rest.promise));
  await visitor.ask("Second");
  await visitor.answers.getByText("Just a line.").waitFor();
  await eventually(async () => {
    const top = await scroller(visitor).evaluate((box) => box.getBoundingClientRect().top);
    const distance = (await topOf(visitor, "Second")) - top;
    assert.ok(distance >= 40 && distance <= 112, `${distance} px below the top`);
  });
  rest.resolve();
});

test("opening a tool's card moves nothing above it", async (t) => {
  const { account, visitor } = await stage.member(t, { viewport });
  await account.connectToolbox();
  stage.model.answer(say("Before."), call("calculate", { expression: "1 + 1" }));
  stage.model.answer(say(paragraphs(0, 20)));
  await visitor.open();
  await visitor.ask("Count");
  await visitor.answered();
  await scroller(visitor).evaluate((box) => box.scrollTo(0, 0));
  const place = await topOf(visitor, "Before.");
  await visitor.toolCall("calculate").getByRole("button", { expanded: false }).click();
  await visitor.toolCall("calculate").getByText("Arguments").waitFor();
  assert.equal(await topOf(visitor, "Before."), place);
});

test("a chat is printed as its messages, on as many pages as they need", async (t) => {
  const { visitor } = await stage.member(t, { viewport, colorScheme: "dark" });
  stage.model.answer(say(paragraphs(0, 120)));
  await visitor.open();
  await visitor.ask("Write a lot");
  await visitor.page.getByText("Paragraph 119.", { exact: true }).waitFor();
  await visitor.page.emulateMedia({ media: "print" });
  assert.equal(await visitor.page.getByRole("banner").isVisible(), false);
  assert.equal(await visitor.composer.isVisible(), false);
  const pdf = await visitor.page.pdf({ format: "A4" });
  const pages = pdf.toString("latin1").match(/\/Type\s*\/Page\b/gu)?.length ?? 0;
  assert.ok(pages >= 3, `${pages} pages`);
  const [ink, paper] = await visitor.page.evaluate(() => {
    const style = getComputedStyle(document.body);
    return [style.color, style.backgroundColor];
  });
  assert.notEqual(ink, paper);
});

test("screen readers hear that an answer begins and ends, and who says what", async (t) => {
  const { visitor } = await stage.member(t);
  const rest = Promise.withResolvers<void>();
  stage.model.answer(say("Some words"), hold(rest.promise), say(" more."));
  await visitor.open();
  await visitor.ask("Hello");
  const log = visitor.page.getByRole("log", { name: "Messages" });
  await visitor.page.getByRole("status").getByText("Assistant is replying").waitFor();
  assert.equal(await log.getAttribute("aria-busy"), "true");
  rest.resolve();
  await visitor.page.getByRole("status").getByText("Reply finished").waitFor();
  assert.equal(await log.getAttribute("aria-busy"), "false");
  const headings = await log.getByRole("heading").allTextContents();
  assert.deepEqual(headings, ["You said", "Assistant said"]);
});

test("Enter that ends the choice of an input method sends nothing", async (t) => {
  const { visitor } = await stage.member(t);
  await visitor.open();
  await visitor.composer.focus();
  const keyboard = await visitor.page.context().newCDPSession(visitor.page);
  await keyboard.send("Input.imeSetComposition", { text: "にほん", selectionStart: 3, selectionEnd: 3 });
  await keyboard.send("Input.dispatchKeyEvent", {
    type: "rawKeyDown",
    key: "Enter",
    code: "Enter",
    windowsVirtualKeyCode: 229,
  });
  assert.equal(await visitor.questions.count(), 0);
  await keyboard.send("Input.insertText", { text: "日本" });
  assert.equal(await visitor.composer.inputValue(), "日本");
  await visitor.composer.press("Enter");
  await visitor.questions.getByText("日本").waitFor();
});

test("a new chat offers what the tools at hand are good for", async (t) => {
  const { account, visitor } = await stage.member(t);
  await visitor.open();
  await visitor.button("Open MCP Servers").click();
  await visitor.field("Server Name").waitFor();
  await account.connectToolbox();
  await visitor.openTab("Chat");
  await visitor.sees("5 tools from 1 server are ready.");
  await visitor.button(/^What time is it in Tokyo\?/u).click();
  assert.match(await visitor.composer.inputValue(), /current_time.*Tokyo/u);
});

test("a new chat begins at its top, however small the screen", async (t) => {
  const { account, visitor } = await stage.member(t, {
    viewport: { width: 320, height: 560 },
    hasTouch: true,
  });
  await account.connectToolbox();
  await visitor.open();
  await visitor.button(/^What time is it in Tokyo\?/u).waitFor();
  const box = scroller(visitor);
  assert.ok(await box.evaluate((one) => one.scrollHeight > one.clientHeight), "it does not fit");
  assert.equal(await box.evaluate((one) => one.scrollTop), 0);
});

test("no screen shifts while it loads", async (t) => {
  const { account, visitor } = await stage.member(t, { viewport });
  await account.connectToolbox();
  const chat = await account.newChat();
  stage.model.answer(say(paragraphs(0, 12)));
  await account.say(chat, "A question");
  await visitor.page.addInitScript(() => {
    const page = globalThis as unknown as { shifted: number };
    page.shifted = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as (PerformanceEntry & {
        value: number;
        hadRecentInput: boolean;
      })[])
        if (!entry.hadRecentInput) page.shifted += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
  });
  const shifted = () => visitor.page.evaluate(() => (globalThis as unknown as { shifted: number }).shifted);
  const places = {
    "/": visitor.answers.getByText("Paragraph 0.", { exact: true }),
    "/?tab=servers": visitor.connection("toolbox").getByText("connected"),
    "/?tab=tools": visitor.toolCard("calculate"),
  };
  for (const [path, sign] of Object.entries(places)) {
    await visitor.open(path);
    await sign.waitFor({ state: "attached" });
    // What comes late is part of it.
    await visitor.page.waitForTimeout(500);
    const sum = await shifted();
    assert.ok(sum <= 0.02, `${path} shifted by ${sum}`);
  }
});

test("on a phone, Jump to latest covers no button of a call that waits", async (t) => {
  const { account, visitor } = await stage.member(t, {
    viewport: { width: 320, height: 640 },
    hasTouch: true,
  });
  const post = await serveTools([{ name: "send", run: () => "Sent." }]);
  t.after(() => post.stop());
  await account.connect("post", post.url);
  stage.model.answer(say(paragraphs(0, 20)), call("send", { to: "Ada" }));
  stage.model.answer(say("Sent."));
  await visitor.open();
  await visitor.ask("Send it");
  const question = visitor.page.getByRole("region", { name: "Allow post to run send?", exact: true });
  await question.waitFor();
  const jump = visitor.button(/^Jump to latest/u);
  let looked = 0;
  // The first look brings the button, for which the conversation makes room.
  for (const away of [150, 40, 60, 80, 100, 120]) {
    await question.evaluate((card, hidden) => {
      const box = card.closest('[aria-label="Conversation"]');
      if (!box) throw new Error("the card stands in no conversation");
      box.scrollBy(0, card.getBoundingClientRect().bottom - box.getBoundingClientRect().bottom - hidden);
    }, away);
    await jump.waitFor();
    const covered = await question.evaluate((card) => {
      const frame = card.closest('[aria-label="Conversation"]')?.getBoundingClientRect();
      const buttons = [...card.querySelectorAll("button")].map((one) => ({
        one,
        box: one.getBoundingClientRect(),
      }));
      const inSight = buttons.filter(
        ({ box }) => frame && box.bottom <= frame.bottom && box.top >= frame.top,
      );
      const hidden = inSight.filter(({ one, box }) => {
        const hit = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
        return !one.contains(hit);
      });
      return { seen: inSight.length, hidden: hidden.map(({ one }) => one.textContent) };
    });
    looked += covered.seen;
    assert.deepEqual(covered.hidden, [], `${away} px below`);
  }
  assert.ok(looked > 0, "no button was in sight");
  await jump.click();
  await question.getByRole("button", { name: "Allow once" }).click();
  await visitor.answered();
});
