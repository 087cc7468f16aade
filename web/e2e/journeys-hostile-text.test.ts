import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect, looks } from "./look.ts";
import { raw, say } from "./scripted-model.ts";
import { startFixture } from "./fixture.ts";
import { eventually, type AppPage } from "./app-page.ts";

const fixture = await startFixture();

/** Pieces in which an answer comes. */
const PIECES = 20;
/** Longest allowed task of the page, in ms. Without limits these texts blocked it for 7 s to minutes, or crashed it. */
const MAX_TASK_MS = 3_000;

const repeat = (pattern: string, length: number) => pattern.repeat(Math.ceil(length / pattern.length));
const columns = (cell: string) => `|${`${cell}|`.repeat(3_000)}`;

/** Texts that took the page time in proportion to the square of their length, or the tab its stack. */
const hostileTexts: readonly [name: string, text: string][] = [
  ["quotes in each other", ">".repeat(1_400)],
  ["quotes with spaces in each other", "> ".repeat(2_000)],
  ["lists in each other", "- ".repeat(3_000)],
  [
    "lists in each other, line by line",
    Array.from({ length: 300 }, (_, at) => `${"  ".repeat(at)}- a`).join("\n"),
  ],
  ["emphasis in each other", `${"*a **b ".repeat(2_000)}${" b** a*".repeat(2_000)}`],
  ["brackets in each other", `${"[".repeat(10_000)}${"]".repeat(10_000)}`],
  ["emphasis that is not closed", repeat("*a_ ", 40_000)],
  ["links that are not closed", repeat("[a](", 190_000)],
  ["a long word", repeat("a", 190_000)],
  ["combining marks", `e${"\u0301".repeat(60_000)}`],
  ["a wide table", `${columns("a")}\n${columns("-")}\n${columns("b")}`],
  ["closing brackets", repeat("]", 20_000)],
  ["lines between rules", repeat("--\n", 20_000)],
];

/** The model says a text in a few large pieces. */
function answerWith(text: string): void {
  const size = Math.ceil(text.length / PIECES);
  const chunks = Array.from({ length: PIECES }, (_, at) => text.slice(at * size, (at + 1) * size));
  fixture.model.answer(
    ...chunks.map((content) =>
      raw(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`),
    ),
    say(" The end."),
  );
}

interface Observed extends Window {
  longestTask?: number;
}

async function observeTasks({ page }: AppPage): Promise<void> {
  await page.addInitScript(() => {
    const observed: Observed = window;
    observed.longestTask = 0;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries())
        observed.longestTask = Math.max(observed.longestTask ?? 0, duration);
    }).observe({ type: "longtask", buffered: true });
  });
}

const longestTask = ({ page }: AppPage): Promise<number> =>
  page.evaluate(() => Math.round((window as Observed).longestTask ?? 0));

const isOpening = ({ page }: AppPage): Promise<boolean> =>
  page.evaluate(() => localStorage.getItem("opening-chat") !== null);

for (const [name, text] of hostileTexts) {
  test(`an answer of ${name} neither crashes nor freezes the page, while it comes and later`, async (t) => {
    const { appPage } = await fixture.openSignedInPage(t);
    await observeTasks(appPage);
    await appPage.open();
    await appPage.composer.waitFor();
    answerWith(text);
    await appPage.ask("Go");
    await appPage.answered(60_000);
    const streaming = await longestTask(appPage);
    await appPage.open();
    await appPage.answers.last().locator("time").waitFor({ timeout: 60_000 });
    // The chat is open when what was parsed elsewhere has been drawn, too.
    await eventually(async () => assert.equal(await isOpening(appPage), false), 30_000);
    const opened = await longestTask(appPage);
    t.diagnostic(`longest task: ${streaming} ms while it came, ${opened} ms when opened`);
    assert.ok((await appPage.answers.last().textContent())?.includes("The end."));
    assert.ok(Math.max(streaming, opened) < MAX_TASK_MS, `${streaming} and ${opened} ms`);
  });
}

test("a long text is formatted after it was parsed elsewhere", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  answerWith(
    `# Report\n\n${"Some **bold** words of a *long* text. - one\n\n- two\n- three\n\n".repeat(600)}`,
  );
  await appPage.ask("Go");
  await appPage.answered(60_000);
  await appPage.open();
  await appPage.answers.getByRole("heading", { name: "Report" }).waitFor({ timeout: 30_000 });
  assert.equal(await appPage.answers.locator("strong").count(), 600);
});

for (const [name, look] of looks) {
  test(`a chat that did not finish opening is not opened by itself: ${name}`, async (t) => {
    const { appPage, account } = await fixture.openSignedInPage(t, look);
    await appPage.open();
    fixture.model.answer(say("A plain answer."));
    await appPage.ask("The hostile one");
    await appPage.answered();
    await eventually(async () => assert.equal(await isOpening(appPage), false));
    const [chat] = await account.call<{ id: string }[]>("/rest/v1/ai_chat_sessions?select=id");
    // As a tab leaves it that crashed some time ago.
    await appPage.page.evaluate((chatId) => {
      localStorage.setItem("opening-chat", JSON.stringify({ chatId, tab: "another", startedAt: 0 }));
    }, chat?.id);
    for (const path of ["/", `/?c=${chat?.id}`]) {
      await appPage.open(path);
      await appPage.page.getByRole("alert").getByText("“The hostile one” didn't finish opening").waitFor();
      await appPage.button(/^The hostile one \d/u).waitFor();
      assert.equal(await appPage.answers.count(), 0);
    }
    await inspect(appPage, "unfinished-opening", look);
    await appPage.button("Open anyway").click();
    await appPage.answers.getByText("A plain answer.").waitFor();
    await eventually(async () => assert.equal(await isOpening(appPage), false));
    await appPage.open();
    await appPage.answers.getByText("A plain answer.").waitFor();
  });
}
