import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator } from "playwright-core";
import { type AppPage, eventually } from "./app-page.ts";
import { startFixture } from "./fixture.ts";
import { hold, say } from "./scripted-model.ts";

const fixture = await startFixture();
const viewport = { width: 1000, height: 600 };
const paragraphs = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, at) => `Paragraph ${from + at}.\n\n`).join("");

const scroller = ({ page }: AppPage) => page.getByRole("group", { name: "Conversation" });
const line = ({ page }: AppPage, text: string) => page.getByText(text, { exact: true });
const topOf = (element: Locator) => element.evaluate((one) => Math.round(one.getBoundingClientRect().top));

const twoFrames = ({ page }: AppPage) =>
  page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));

interface SearchingWindow {
  find: (text: string, isCaseSensitive: boolean, isBackwards: boolean) => boolean;
}

/** Scrolls to a line as a browser does that has found it; in a browser without a window, a search does not. */
async function comesIntoSight(appPage: AppPage, text: string): Promise<void> {
  const before = await scroller(appPage).evaluate((box) => box.scrollTop);
  await line(appPage, text).evaluate(async (found) => {
    found.scrollIntoView({ block: "center" });
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  });
  assert.ok((await scroller(appPage).evaluate((box) => box.scrollTop)) < before - 100);
}

/** Checks that a message is at the top of the conversation, below a part of what was before it. */
async function comesToTop(appPage: AppPage, text: string): Promise<void> {
  await eventually(async () => {
    const distance = (await topOf(line(appPage, text))) - (await topOf(scroller(appPage)));
    assert.ok(distance >= 40 && distance <= 112, `${text} is ${distance} px below the top`);
  });
}

for (const [what, act] of [
  ["selects words", (appPage: AppPage) => line(appPage, "Paragraph 38.").dblclick()],
  [
    "moves the focus to a link",
    async (appPage: AppPage) => {
      await line(appPage, "A link").click({ trial: true });
      await appPage.page.keyboard.press("Shift+Tab");
      await eventually(async () => {
        await appPage.page.keyboard.press("Shift+Tab");
        const text = await appPage.page.evaluate(() => document.activeElement?.textContent);
        assert.equal(text, "A link");
      });
    },
  ],
  [
    "searches in the page",
    async (appPage: AppPage) => {
      // The browser's own search selects what it finds, and scrolls without any input that the page could see.
      const isFound = await appPage.page.evaluate(() =>
        (globalThis as unknown as SearchingWindow).find("Paragraph 3.", false, true),
      );
      assert.ok(isFound);
      await comesIntoSight(appPage, "Paragraph 3.");
    },
  ],
  [
    "is led to a place by the browser alone",
    async (appPage: AppPage) => {
      // The search bar of a browser selects nothing before it is closed.
      await comesIntoSight(appPage, "Paragraph 3.");
    },
  ],
] as const) {
  test(`a reader who ${what} in a streaming answer keeps their place`, async (t) => {
    const { appPage } = await fixture.openSignedInPage(t, { viewport });
    const rest = Promise.withResolvers<void>();
    const begun = `${paragraphs(0, 39)}[A link](https://example.com/)\n\nHere`;
    fixture.model.answer(say(begun), hold(rest.promise), say(`.\n\n${paragraphs(40, 80)}`));
    await appPage.open();
    await appPage.ask("Write a lot");
    await line(appPage, "Here").waitFor();
    await act(appPage);
    const place = await topOf(line(appPage, "Paragraph 38."));
    rest.resolve();
    await line(appPage, "Paragraph 79.").waitFor({ state: "attached" });
    assert.equal(await topOf(line(appPage, "Paragraph 38.")), place);
    await appPage.answered();
  });
}

test("older messages come in above without moving what is read", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport });
  await account.fill(
    await account.newChat(),
    Array.from({ length: 200 }, (_, at) => `Message ${at}`),
  );
  await appPage.open();
  await line(appPage, "Message 199").waitFor();
  const loads = Promise.withResolvers<void>();
  await appPage.page.route(/ai_chat_messages.*created_at=lt/u, async (route) => {
    await loads.promise;
    await route.continue();
  });
  // The top is reached once nothing more is known.
  await eventually(async () => {
    await scroller(appPage).evaluate((box) => box.scrollTo(0, 0));
    const height = await scroller(appPage).evaluate((box) => box.scrollHeight);
    await twoFrames(appPage);
    assert.equal(await scroller(appPage).evaluate((box) => box.scrollHeight), height);
    assert.equal(await scroller(appPage).evaluate((box) => box.scrollTop), 0);
  });
  const first = await appPage.page
    .getByText(/^Message \d+$/u)
    .first()
    .textContent();
  assert.ok(first);
  const place = await topOf(line(appPage, first));
  loads.resolve();
  await line(appPage, `Message ${Number(first.split(" ")[1]) - 1}`).waitFor({ state: "attached" });
  const moved = (await topOf(line(appPage, first))) - place;
  assert.ok(Math.abs(moved) <= 1, `${first} has moved by ${moved} px`);
});

const fenced = (info: string, text: string) => `\`\`\`${info}\n${text}\n\`\`\``;
const longCode = fenced("python", Array.from({ length: 58 }, (_, at) => `print(${at})`).join("\n"));
/** A diagram that is much taller than its code. */
const diagram = fenced("mermaid", `flowchart TD\n  ${["Intake", "Review", "Reply"].join(" --> ")}`);

/** Checks that an act which changes the height of the conversation leaves an element where it is. */
async function keepsPlace(appPage: AppPage, what: Locator, act: () => Promise<void>): Promise<void> {
  const heightOf = () => scroller(appPage).evaluate((box) => box.scrollHeight);
  const [place, height] = [await topOf(what), await heightOf()];
  await act();
  await eventually(async () => assert.notEqual(await heightOf(), height));
  await twoFrames(appPage);
  const moved = (await topOf(what)) - place;
  assert.ok(Math.abs(moved) <= 1, `${String(what)} has moved by ${moved} px`);
}

const centre = (what: Locator) => what.evaluate((one) => one.scrollIntoView({ block: "center" }));

test("opened code moves nothing above it, and a late picture nothing that is read below it", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport });
  const answer = [paragraphs(0, 20), longCode, paragraphs(20, 60)].join("\n");
  await account.fill(await account.newChat(), ["Write", answer, "More", paragraphs(60, 100)]);
  await appPage.open();
  const showAll = appPage.button("Show all 58 lines");
  await centre(showAll);
  await keepsPlace(appPage, appPage.answers.locator("figure").first(), () => showAll.press("Enter"));
  // What grows above the window, as a picture does that comes late, moves nothing in it.
  await centre(line(appPage, "Paragraph 80."));
  await keepsPlace(appPage, line(appPage, "Paragraph 80."), () =>
    line(appPage, "Paragraph 19.").evaluate((one) => {
      const picture = document.createElement("img");
      picture.src = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200"/>')}`;
      one.append(picture);
    }),
  );
});

test("folded code leaves its button and what follows where they are", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport });
  const answer = [paragraphs(0, 20), longCode, paragraphs(20, 60)].join("\n");
  await account.fill(await account.newChat(), ["Write", answer]);
  await appPage.open();
  await appPage.button("Show all 58 lines").click();
  const showLess = appPage.button("Show fewer lines");
  await centre(showLess);
  await keepsPlace(appPage, line(appPage, "Paragraph 20."), () => showLess.click());
});

for (const [where, after] of [
  ["at the end of a chat", 0],
  ["in the middle of a chat", 60],
] as const) {
  test(`a diagram that is opened, zoomed and closed ${where} moves nothing above it`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, { viewport });
    await account.fill(await account.newChat(), [
      "Write",
      paragraphs(0, 4),
      "Draw",
      `Here:\n\n${diagram}\n\n${paragraphs(4, 4 + after)}`,
    ]);
    await appPage.open();
    const figure = appPage.answers.locator("figure");
    const press = (name: string) => figure.getByRole("button", { name }).click();
    await figure.getByRole("button", { name: "Show diagram" }).waitFor();
    if (after > 0) await centre(figure);
    else await scroller(appPage).evaluate((box) => box.scrollTo(0, box.scrollHeight));
    await twoFrames(appPage);
    await keepsPlace(appPage, figure, async () => {
      await press("Show diagram");
      await figure.locator("[data-diagram=drawn]").waitFor();
    });
    await keepsPlace(appPage, figure, () => press("Zoom in"));
    await keepsPlace(appPage, figure, () => press("Show code"));
  });
}

for (const [where, read] of [
  ["the same message", "Paragraph 30."],
  ["a later message", "Paragraph 60."],
] as const) {
  test(`a diagram that is drawn above what is read in ${where} does not move it`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, { viewport });
    await account.fill(await account.newChat(), [
      "Draw",
      `${diagram}\n\n${paragraphs(0, 40)}`,
      "More",
      paragraphs(40, 80),
    ]);
    const isLoaded = Promise.withResolvers<void>();
    await appPage.page.route(/diagram-renderer/u, async (route) => {
      await isLoaded.promise;
      await route.continue();
    });
    await appPage.open();
    const figure = appPage.answers.locator("figure");
    await figure.getByRole("button", { name: "Show diagram" }).click();
    await centre(line(appPage, read));
    await keepsPlace(appPage, line(appPage, read), async () => isLoaded.resolve());
  });
}

test("formulas and colours that come late move nothing that is read below them", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport });
  const isRead = Promise.withResolvers<void>();
  await appPage.page.route(/\/rich-|\/highlight-worker/u, async (route) => {
    await isRead.promise;
    await route.continue();
  });
  const rich = [
    String.raw`A sum $\sum_{n=1}^{\infty} \frac{1}{n^2}$ in a line.`,
    String.raw`$$\begin{pmatrix} a \\ b \\ c \\ d \end{pmatrix} = \cfrac{1}{1 + \cfrac{1}{x}}$$`,
    longCode,
    "| a | b |\n| - | - |\n| 1 | $2$ |",
  ].join("\n\n");
  await account.fill(await account.newChat(), [
    "Compute",
    `${rich}\n\n${paragraphs(0, 10)}`,
    "More",
    paragraphs(10, 40),
  ]);
  await appPage.open();
  const read = line(appPage, "Paragraph 9.");
  await centre(read);
  const place = await topOf(read);
  assert.equal(await appPage.answers.locator(".katex").count(), 0);
  isRead.resolve();
  await eventually(async () => assert.equal(await appPage.answers.locator(".katex").count(), 3));
  await appPage.answers.locator("[class^=code-]").first().waitFor({ state: "attached" });
  await appPage.button("Show all 58 lines").waitFor({ state: "attached" });
  assert.equal(await topOf(read), place);
});

test("a picture that comes late above in the same message moves nothing that is read", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport });
  const arrives = Promise.withResolvers<void>();
  const picture = `<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200"/>`;
  // The server's policy allows pictures of its own origin.
  const { origin } = account;
  await appPage.page.route(`${origin}/late.svg`, async (route) => {
    await arrives.promise;
    await route.fulfill({ contentType: "image/svg+xml", body: picture });
  });
  const list = Array.from({ length: 40 }, (_, at) => `- Item ${at}.\n`);
  list.splice(5, 0, `- ![A map](${origin}/late.svg)\n`);
  const answer = `${paragraphs(0, 10)}${list.join("")}\n\n${paragraphs(10, 40)}`;
  await account.fill(await account.newChat(), ["Write", answer]);
  await appPage.open();
  await appPage.button(/^Load image from/u).click();
  // The message begins far above the window; what is read is an item of the same list, then a paragraph after it.
  await line(appPage, "Item 25.").evaluate((one) => one.scrollIntoView({ block: "center" }));
  const image = appPage.answers.getByAltText("A map");
  const [imageTop, place] = [await topOf(image), await topOf(line(appPage, "Item 25."))];
  assert.ok(imageTop < (await topOf(scroller(appPage))) - 50);
  arrives.resolve();
  await eventually(async () => assert.equal((await image.boundingBox())?.height, 200));
  const moved = (await topOf(line(appPage, "Item 25."))) - place;
  assert.ok(Math.abs(moved) <= 1, `Item 25 has moved by ${moved} px`);
});

test("a chat opens at its last question, and Alt with an arrow leads to the others", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport });
  const chat = await account.newChat();
  await account.fill(
    chat,
    ["First", "Second", "Third"].flatMap((question) => [question, paragraphs(0, 30)]),
  );
  await appPage.open();
  await comesToTop(appPage, "Third");
  await scroller(appPage).focus();
  // The keys are loaded after the messages.
  await appPage.page.locator("[aria-keyshortcuts]").waitFor();
  await appPage.page.keyboard.press("Alt+ArrowUp");
  await comesToTop(appPage, "Second");
  await appPage.page.keyboard.press("Alt+ArrowUp");
  await appPage.page.keyboard.press("Alt+ArrowDown");
  await appPage.page.keyboard.press("Alt+ArrowDown");
  await comesToTop(appPage, "Third");
  // An empty message field has no lines to move between.
  await appPage.composer.press("Alt+ArrowUp");
  await comesToTop(appPage, "Second");
  await appPage.composer.fill("A draft");
  await appPage.composer.press("Alt+ArrowUp");
  await comesToTop(appPage, "Second");
  await scroller(appPage).evaluate((box) => box.scrollTo(0, 0));
  await appPage.page.reload();
  await comesToTop(appPage, "Third");
});
