import assert from "node:assert/strict";
import { test } from "node:test";
import { call, hold, say } from "./scripted-model.ts";
import { serveTools } from "./scripted-mcp.ts";
import { focusedName } from "./look.ts";
import { startFixture } from "./fixture.ts";
import { eventually, type AppPage } from "./app-page.ts";

const fixture = await startFixture();
const viewport = { width: 1000, height: 600 };
const paragraphs = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, at) => `Paragraph ${from + at}.\n\n`).join("");

const scroller = ({ page }: AppPage) => page.getByRole("group", { name: "Conversation" });
/** Returns how far the end of the conversation is below the visible area, in pixels. */
const below = (appPage: AppPage) =>
  scroller(appPage).evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight);
const topOf = (appPage: AppPage, text: string) =>
  appPage.page
    .getByText(text, { exact: true })
    .evaluate((line) => Math.round(line.getBoundingClientRect().top));

test("a streaming answer is followed, a reader who scrolls up is left alone, and Jump to latest comes back", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t, { viewport });
  const [middle, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  fixture.model.answer(
    say(paragraphs(0, 40)),
    hold(middle.promise),
    say(paragraphs(40, 80)),
    hold(end.promise),
    say("The end."),
  );
  await appPage.open();
  await appPage.ask("Write a lot");
  const jump = appPage.button(/^Jump to latest/u);
  await appPage.page.getByText("Paragraph 39.", { exact: true }).waitFor();
  await eventually(async () => assert.ok((await below(appPage)) <= 2));
  await scroller(appPage).hover();
  await appPage.page.mouse.wheel(0, -400);
  await jump.waitFor();
  const place = await topOf(appPage, "Paragraph 35.");
  middle.resolve();
  await appPage.page.getByText("Paragraph 79.", { exact: true }).waitFor();
  assert.equal(await topOf(appPage, "Paragraph 35."), place, "what is being read stays where it is");
  await appPage.button("Jump to latest, still writing").click();
  await eventually(async () => assert.ok((await below(appPage)) <= 2));
  end.resolve();
  await appPage.answered();
  await jump.waitFor({ state: "detached" });
});

test("a sent message stands near the top, and the answer grows below it", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t, { viewport });
  fixture.model.answer(say(paragraphs(0, 30)));
  await appPage.open();
  await appPage.ask("First");
  await appPage.answered();
  const rest = Promise.withResolvers<void>();
  fixture.model.answer(say("Just a line."), hold(rest.promise));
  await appPage.ask("Second");
  await appPage.answers.getByText("Just a line.").waitFor();
  await eventually(async () => {
    const top = await scroller(appPage).evaluate((box) => box.getBoundingClientRect().top);
    const distance = (await topOf(appPage, "Second")) - top;
    assert.ok(distance >= 40 && distance <= 112, `${distance} px below the top`);
  });
  rest.resolve();
});

for (const [where, rest] of [
  ["in the middle", paragraphs(0, 20)],
  ["at the end", "Two."],
] as const) {
  test(`opening a tool's card ${where} of a chat moves nothing above it`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, { viewport });
    await account.connectToolbox();
    fixture.model.answer(say(`${paragraphs(20, 25)}Before.`), call("calculate", { expression: "1 + 1" }));
    fixture.model.answer(say(rest));
    await appPage.open();
    await appPage.ask("Count");
    await appPage.answered();
    const opener = appPage.toolCall("calculate").getByRole("button", { expanded: false });
    if (where === "in the middle") await opener.evaluate((one) => one.scrollIntoView({ block: "center" }));
    else await eventually(async () => assert.ok((await below(appPage)) <= 2));
    const place = await topOf(appPage, "Before.");
    const height = await scroller(appPage).evaluate((box) => box.scrollHeight);
    await opener.click();
    await appPage.toolCall("calculate").getByText("Arguments").waitFor();
    assert.ok((await scroller(appPage).evaluate((box) => box.scrollHeight)) > height);
    assert.equal(await topOf(appPage, "Before."), place);
  });
}

test("opening a tool's card above one that was closed moves nothing above it", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport });
  await account.connectToolbox();
  const calls = ["1 + 1", "2 + 2"].map((expression) => call("calculate", { expression }));
  fixture.model.answer(say(`${paragraphs(20, 23)}Before.`), ...calls);
  fixture.model.answer(say(paragraphs(0, 20)));
  await appPage.open();
  await appPage.ask("Count");
  await appPage.answered();
  const [first, second] = [appPage.toolCall("calculate").first(), appPage.toolCall("calculate").last()];
  const [opener, closer] = [first, second].map((card) => card.locator("[aria-expanded]").first());
  await closer?.evaluate((one) => one.scrollIntoView({ block: "center" }));
  await closer?.click();
  await second.getByText("Arguments").waitFor();
  await closer?.click();
  await second.getByText("Arguments").waitFor({ state: "hidden" });
  const place = await topOf(appPage, "Before.");
  await opener?.click();
  await first.getByText("Arguments").waitFor();
  await appPage.page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  );
  assert.equal(await topOf(appPage, "Before."), place);
});

test("a chat is printed as its messages, on as many pages as they need", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t, { viewport, colorScheme: "dark" });
  fixture.model.answer(say(paragraphs(0, 120)));
  await appPage.open();
  await appPage.ask("Write a lot");
  await appPage.page.getByText("Paragraph 119.", { exact: true }).waitFor();
  await appPage.page.emulateMedia({ media: "print" });
  assert.equal(await appPage.page.getByRole("banner").isVisible(), false);
  assert.equal(await appPage.composer.isVisible(), false);
  const pdf = await appPage.page.pdf({ format: "A4" });
  const pages = pdf.toString("latin1").match(/\/Type\s*\/Page\b/gu)?.length ?? 0;
  assert.ok(pages >= 3, `${pages} pages`);
  const [ink, paper] = await appPage.page.evaluate(() => {
    const style = getComputedStyle(document.body);
    return [style.color, style.backgroundColor];
  });
  assert.notEqual(ink, paper);
});

test("screen readers hear that an answer begins and ends, and who says what", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  const rest = Promise.withResolvers<void>();
  fixture.model.answer(say("Some words"), hold(rest.promise), say(" more."));
  await appPage.open();
  await appPage.ask("Hello");
  const log = appPage.page.getByRole("log", { name: "Messages" });
  await appPage.page.getByRole("status").getByText("Assistant is replying").waitFor();
  assert.equal(await log.getAttribute("aria-busy"), "true");
  rest.resolve();
  await appPage.page.getByRole("status").getByText("Reply finished").waitFor();
  assert.equal(await log.getAttribute("aria-busy"), "false");
  const headings = await log.getByRole("heading").allTextContents();
  assert.deepEqual(headings, ["You said", "Assistant said"]);
});

test("Enter that ends the choice of an input method sends nothing", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await appPage.composer.focus();
  const keyboard = await appPage.page.context().newCDPSession(appPage.page);
  await keyboard.send("Input.imeSetComposition", { text: "にほん", selectionStart: 3, selectionEnd: 3 });
  await keyboard.send("Input.dispatchKeyEvent", {
    type: "rawKeyDown",
    key: "Enter",
    code: "Enter",
    windowsVirtualKeyCode: 229,
  });
  assert.equal(await appPage.questions.count(), 0);
  await keyboard.send("Input.insertText", { text: "日本" });
  assert.equal(await appPage.composer.inputValue(), "日本");
  await appPage.composer.press("Enter");
  await appPage.questions.getByText("日本").waitFor();
});

test("a new chat offers what the tools at hand are good for", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await appPage.button(/^Add a server/u).click();
  await appPage.field("Server Name").waitFor();
  await account.connectToolbox();
  await appPage.openTab("Chat");
  await appPage.sees("5 tools from 1 server are ready.");
  await appPage.button(/^What time is it in Tokyo\?/u).click();
  assert.match(await appPage.composer.inputValue(), /current_time.*Tokyo/u);
});

test("a new chat without tools leads to the toolbox, to a server, and to questions that need neither", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await appPage.sees("MCP servers give the assistant tools: your files, calendars, databases.");
  await appPage.button("Draft a polite reminder").click();
  assert.equal(await appPage.composer.inputValue(), "Draft a polite reminder to ");
  await appPage.button(/^Try the toolbox/u).click();
  await appPage.toast("Connection Successful", "Connected to toolbox with 5 tools");
  await appPage.sees("5 tools from 1 server are ready.");
  const offered = appPage.page.getByRole("listitem").getByRole("button", { name: /· toolbox$/u });
  await eventually(async () => assert.equal(await offered.count(), 4));
  assert.match(await focusedName(appPage), /Tokyo/u);
});

test("a new chat begins at its top, however small the screen", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, {
    viewport: { width: 320, height: 560 },
    hasTouch: true,
  });
  await account.connectToolbox();
  await appPage.open();
  await appPage.button(/^What time is it in Tokyo\?/u).waitFor();
  const box = scroller(appPage);
  assert.ok(await box.evaluate((one) => one.scrollHeight > one.clientHeight), "it does not fit");
  assert.equal(await box.evaluate((one) => one.scrollTop), 0);
});

test("no screen shifts while it loads", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport });
  await account.connectToolbox();
  const chat = await account.newChat();
  fixture.model.answer(say(paragraphs(0, 12)));
  await account.say(chat, "A question");
  await appPage.page.addInitScript(() => {
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
  const shifted = () => appPage.page.evaluate(() => (globalThis as unknown as { shifted: number }).shifted);
  const places = {
    "/": appPage.answers.getByText("Paragraph 0.", { exact: true }),
    "/?tab=servers": appPage.connection("toolbox").getByText("connected"),
    "/?tab=tools": appPage.toolCard("calculate"),
  };
  for (const [path, sign] of Object.entries(places)) {
    await appPage.open(path);
    await sign.waitFor({ state: "attached" });
    // What comes late is part of it.
    await appPage.page.waitForTimeout(500);
    const sum = await shifted();
    assert.ok(sum <= 0.02, `${path} shifted by ${sum}`);
  }
});

const richAnswer = String.raw`For a queue with one reviewer, $\lambda < \mu$ holds, so

$$
W_q = \frac{\lambda}{\mu(\mu - \lambda)} = \cfrac{1}{1 + \cfrac{1}{1 + \cfrac{1}{x}}}
$$

and, as a matrix,

\[
\begin{pmatrix} a & b \\ c & d \\ e & f \end{pmatrix} \begin{bmatrix} x \\ y \end{bmatrix}
\]

~~~ts
// Mean wait in an M/M/1 queue: arrivals and service rate, both per minute, as one long line.
export function meanWait(arrivals: number, service: number): number {
  return arrivals / (service * (service - arrivals));
}
~~~

~~~diff
-  return 1;
+  return 2;
~~~

| Step | Wait | Load of the queue |
| --- | ---: | :-: |
| Review | $3.1$ min | 93 % |
| Intake | 0.4 min | 70 % |

- A sum: \[\sum_{n=1}^{\infty} \frac{1}{n^2} = \frac{\pi^2}{6}\]
- And \(L = \lambda W\).

The end.`;

for (const width of [320, 1280]) {
  test(`an answer with code, formulas and a table moves no line as it is written and drawn: ${width} px`, async (t) => {
    const { appPage } = await fixture.openSignedInPage(t, { viewport: { width, height: 800 } });
    // What is loaded for it comes when all of it stands there, and has to fit in.
    const isWritten = Promise.withResolvers<void>();
    await appPage.page.route(/\/rich-|\/highlight-worker/u, async (route) => {
      await isWritten.promise;
      await route.continue();
    });
    await appPage.open();
    const [first, rest] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const half = richAnswer.indexOf("| Step");
    fixture.model.answer(
      say("It begins.\n\n"),
      hold(first.promise),
      say(richAnswer.slice(0, half), 2),
      hold(rest.promise),
      say(richAnswer.slice(half), 2),
    );
    await appPage.ask("How long?");
    await appPage.sees("It begins.");
    await appPage.page.evaluate(() => {
      const shifts: string[] = [];
      Object.assign(globalThis, { shifts });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries() as (PerformanceEntry & {
          sources: readonly { node: Node | null; previousRect: DOMRect; currentRect: DOMRect }[];
        })[])
          for (const { node, previousRect, currentRect } of entry.sources) {
            // The caret is no node of its own, and goes to the next line with the words.
            const isCaret = node === null && currentRect.width === 8 && currentRect.height === 17;
            // A formula is narrower than its source, so what follows on its line comes nearer.
            if (previousRect.top !== currentRect.top && !isCaret)
              shifts.push(`${node?.textContent?.slice(0, 40)}: ${previousRect.top} to ${currentRect.top}`);
          }
      }).observe({ type: "layout-shift" });
    });
    first.resolve();
    await appPage.answers.locator("pre").last().getByText("return 2").waitFor();
    rest.resolve();
    await appPage.answered();
    isWritten.resolve();
    const answer = appPage.answers.last();
    await eventually(async () => assert.equal(await answer.locator(".katex").count(), 6));
    await answer.locator(".code-keyword").first().waitFor({ state: "attached" });
    await answer.getByRole("button", { name: "Download as CSV" }).waitFor({ state: "attached" });
    await appPage.page.evaluate(
      () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
    );
    assert.deepEqual(
      await appPage.page.evaluate(() => (globalThis as unknown as { shifts: string[] }).shifts),
      [],
    );
  });
}

test("plain text loads nothing that rich answers need", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  const rich: string[] = [];
  appPage.page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (/\/(?:rich-|highlight|json-tree|diagram|preview|csv-table|KaTeX)/u.test(pathname))
      rich.push(pathname);
  });
  await appPage.open();
  fixture.model.answer(
    say(
      "# A head\n\nIt costs $5, with **bold**, `a span` and [a link](https://example.com).\n\n- a list\n\n> a quote",
    ),
  );
  await appPage.ask("Just words");
  await appPage.answered();
  await appPage.answers.getByRole("button", { name: "Copy answer" }).waitFor();
  assert.equal(rich.join(), "");
  // Control: the names are those of the files.
  fixture.model.answer(say("| a |\n| - |\n| 1 |\n\n$x$\n\n~~~ts\n1\n~~~"));
  await appPage.ask("And more");
  await appPage.answered();
  for (const part of ["rich-table", "rich-math", "rich-code", "highlight", "KaTeX"])
    await eventually(() =>
      assert.ok(
        rich.some((path) => path.includes(part)),
        part,
      ),
    );
});

test("the row of tools has its place before the tools are known", async (t) => {
  for (const hasTouch of [false, true]) {
    const { account, appPage } = await fixture.openSignedInPage(t, { viewport, hasTouch });
    await account.connectToolbox();
    await appPage.open();
    const quickTool = appPage.page.locator("button", { hasText: /^calculate$/u });
    await quickTool.waitFor();
    const { promise: isAsked, resolve: release } = Promise.withResolvers<void>();
    await appPage.page.route("**/rest/v1/mcp_servers?*", async (route) => {
      await isAsked;
      await route.continue();
    });
    await appPage.page.reload();
    const field = appPage.page.getByRole("textbox", { name: /message/iu });
    await field.waitFor();
    const before = await field.boundingBox();
    assert.equal(await quickTool.count(), 0, "the tools are not known yet");
    release();
    await quickTool.waitFor();
    assert.deepEqual(await field.boundingBox(), before);
    await appPage.pressInHeader("Sign Out");
    await appPage.arrivesAt("/auth");
    assert.equal(await appPage.page.evaluate(() => localStorage.getItem("had-tools")), null);
  }
});

test("on a phone, Jump to latest covers no button of a call that waits", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, {
    viewport: { width: 320, height: 640 },
    hasTouch: true,
  });
  const post = await serveTools([{ name: "send", run: () => "Sent." }]);
  t.after(() => post.stop());
  await account.connect("post", post.url);
  fixture.model.answer(say(paragraphs(0, 20)), call("send", { to: "Ada" }));
  fixture.model.answer(say("Sent."));
  await appPage.open();
  await appPage.ask("Send it");
  const question = appPage.page.getByRole("region", { name: "Allow post to run send?", exact: true });
  await question.waitFor();
  const jump = appPage.button(/^Jump to latest/u);
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
  await appPage.answered();
});
