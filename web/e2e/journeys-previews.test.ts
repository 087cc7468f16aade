import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import type { FrameLocator, Locator } from "playwright-core";
import { type AppPage, eventually } from "./app-page.ts";
import { startFixture } from "./fixture.ts";
import { focusedName, inspect, looks } from "./look.ts";
import { allowAll } from "./permission.ts";
import { serveTools } from "./scripted-mcp.ts";
import { call, hold, say } from "./scripted-model.ts";

const fixture = await startFixture();

const fenced = (info: string, text: string) => `\`\`\`${info}\n${text}\n\`\`\``;
const calculator = (minutes: string) => `<!doctype html>
<title>Waiting time</title>
<style>body { font: 16px system-ui; margin: 2rem }</style>
<h1>Waiting time</h1>
<p id="out"></p>
<script>document.getElementById("out").textContent = "${minutes} min";</script>`;
const csv = "step,arrivals,service\nintake,4.2,6\nreview,4.2,4.5";
const answers = [
  "How long?",
  `A first one:\n\n${fenced("html queue-calculator.html", calculator("2.9"))}`,
  "Again",
  `Better:\n\n${fenced("html queue-calculator.html", calculator("3.1"))}\n\nThe data:\n\n${fenced("csv", csv)}\n\n${fenced("json", '{ "intake": [4.2, 6] }')}\n\n${fenced("md", "# Notes\n\nReview is the **bottleneck**.")}`,
];

const openers = ({ answers: shown }: AppPage) => shown.getByRole("button", { name: "Open preview" });
const panel = ({ page }: AppPage) =>
  page.getByLabel("Preview", { exact: true }).and(page.locator("aside, dialog"));
const inner = (appPage: AppPage): FrameLocator =>
  panel(appPage).frameLocator("iframe").frameLocator("iframe");

for (const [name, look] of looks) {
  test(`previews can be read and operated in both themes: ${name}`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, look);
    await account.fill(await account.newChat(), answers);
    await appPage.open();
    await openers(appPage).nth(1).scrollIntoViewIfNeeded();
    await inspect(appPage, "preview-cards", look);
    for (const [at, [screen, sign]] of Object.entries([
      ["html", ""],
      ["csv", "intake"],
      ["json", "intake"],
      ["markdown", "bottleneck"],
    ] as const)) {
      await openers(appPage)
        .nth(Number(at) + 1)
        .click();
      await (sign === ""
        ? inner(appPage).getByText("3.1 min").waitFor()
        : panel(appPage).getByText(sign).first().waitFor());
      await inspect(appPage, `preview-${screen}`, look);
      await panel(appPage).getByRole("button", { name: "Close preview" }).click();
    }
  });
}

test("a card below a block names its file and version, and is not printed", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.fill(await account.newChat(), answers);
  await appPage.open();
  await openers(appPage).last().waitFor();
  const cards = await openers(appPage).evaluateAll((buttons) =>
    buttons.map((button) =>
      [...(button.parentElement?.querySelectorAll("p") ?? [])].map((one) => one.innerText),
    ),
  );
  assert.deepEqual(cards, [
    ["queue-calculator.html", "Interactive preview · version 1 of 2"],
    ["queue-calculator.html", "Interactive preview · version 2 of 2"],
    ["preview.csv", "Preview"],
    ["preview.json", "Preview"],
    ["notes.md", "Preview"],
  ]);
  const described = appPage.answers.getByRole("button", { description: "notes.md" });
  assert.equal(await described.count(), 1);
  // All of the card opens the preview: the button lies over the name.
  await appPage.answers.getByText("notes.md").click({ force: true });
  await panel(appPage).getByText("bottleneck").waitFor();
  await panel(appPage).getByRole("button", { name: "Close preview" }).click();
  await appPage.page.emulateMedia({ media: "print" });
  await openers(appPage).last().waitFor({ state: "hidden" });
  assert.equal(await openers(appPage).count(), 0);
});

test("a preview shows its versions and its code, is saved, and gives the focus back", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport: { width: 1280, height: 800 } });
  await account.fill(await account.newChat(), answers);
  await appPage.open();
  await openers(appPage).nth(1).press("Enter");
  const shown = panel(appPage);
  await inner(appPage).getByText("3.1 min").waitFor();
  await shown.getByText("Runs in a sandbox without network.").waitFor();
  await shown.getByText("2 of 2").waitFor();
  await shown.getByRole("button", { name: "Earlier version" }).click();
  await inner(appPage).getByText("2.9 min").waitFor();
  await shown.getByText("1 of 2").waitFor();
  const [file] = await Promise.all([
    appPage.page.waitForEvent("download"),
    shown.getByRole("button", { name: "Download" }).click(),
  ]);
  assert.equal(file.suggestedFilename(), "queue-calculator.html");
  assert.equal(await readFile(await file.path(), "utf8"), calculator("2.9"));
  await shown.getByRole("tab", { name: "Code" }).click();
  await shown.locator("pre").getByText("Waiting time").first().waitFor();
  await appPage.page.keyboard.press("Escape");
  await shown.waitFor({ state: "detached" });
  assert.equal(await focusedName(appPage), "Open preview");
});

test("Escape in a previewed page closes it, but not before the page was used", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport: { width: 1280, height: 800 } });
  const closing = `<p>one</p><input aria-label="Name"><script>parent.postMessage({ method: "preview/escape" }, "*")</script>`;
  await account.fill(await account.newChat(), ["A page", fenced("html", closing)]);
  await appPage.open();
  await openers(appPage).click();
  await inner(appPage).getByLabel("Name").fill("x");
  await inner(appPage).getByLabel("Name").press("Escape");
  await panel(appPage).waitFor({ state: "detached" });
  assert.equal(await focusedName(appPage), "Open preview");
});

test("a preview is shown in full screen and comes back", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport: { width: 1280, height: 800 } });
  await account.fill(await account.newChat(), answers);
  await appPage.open();
  await openers(appPage).nth(1).click();
  await inner(appPage).getByText("3.1 min").waitFor();
  const isFull = () =>
    panel(appPage).evaluate(
      (element) => document.fullscreenElement !== null && element.contains(document.fullscreenElement),
    );
  const button = panel(appPage).getByRole("button", { name: "Full screen", exact: true });
  await button.click();
  await eventually(async () => assert.equal(await isFull(), true));
  await inner(appPage).getByText("3.1 min").waitFor();
  await panel(appPage).getByRole("button", { name: "Exit full screen" }).click();
  await eventually(async () => assert.equal(await isFull(), false));
  await button.waitFor();
});

test("a preview ends with a change of the chat", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport: { width: 1280, height: 800 } });
  await account.fill(await account.newChat(), answers);
  await appPage.open();
  await openers(appPage).first().click();
  await inner(appPage).getByText("2.9 min").waitFor();
  await appPage.newChat.click();
  await panel(appPage).waitFor({ state: "detached" });
});

test("in a narrow window a preview fills it, and Escape closes it", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport: { width: 320, height: 640 } });
  await account.fill(await account.newChat(), answers);
  await appPage.open();
  await openers(appPage).nth(1).press("Enter");
  await inner(appPage).getByText("3.1 min").waitFor();
  assert.equal((await panel(appPage).boundingBox())?.width, 320);
  await appPage.page.keyboard.press("Escape");
  await panel(appPage).waitFor({ state: "detached" });
  assert.equal(await focusedName(appPage), "Open preview");
});

test("on a phone the preview is a sheet that is dragged down to close it", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, {
    viewport: { width: 320, height: 640 },
    hasTouch: true,
  });
  await account.fill(await account.newChat(), answers);
  await appPage.open();
  await openers(appPage).nth(1).tap();
  await inner(appPage).getByText("3.1 min").waitFor();
  const sheet = await panel(appPage).boundingBox();
  assert.ok(sheet && sheet.y > 0 && sheet.y + sheet.height === 640 && sheet.width === 320);
  const session = await appPage.page.context().newCDPSession(appPage.page);
  const drag = async (distance: number) => {
    const at = (y: number) => [{ x: 120, y: sheet.y + 20 + y }];
    await session.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: at(0) });
    for (let moved = 20; moved <= distance; moved += 20)
      await session.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: at(moved) });
    await session.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  };
  await drag(200);
  await panel(appPage).waitFor({ state: "detached" });
  assert.equal(await focusedName(appPage), "Open preview");
});

test("a preview of a tool's result shows in the panel", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport: { width: 1280, height: 800 } });
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="240" height="120"><rect width="240" height="120"/></svg>`;
  const shop = await serveTools([
    { name: "list", run: () => '{"fruit":["quince","medlar"]}' },
    { name: "table", run: () => csv },
  ]);
  t.after(() => shop.stop());
  await account.connect("shop", shop.url);
  await allowAll(account, "shop");
  fixture.model.answer(call("list", {}), call("table", {}));
  fixture.model.answer(say(fenced("svg", svg)));
  await appPage.open();
  await appPage.ask("What is there?");
  await appPage.answered();
  const preview = async (within: Locator) => {
    await within.getByRole("button", { name: "Open preview" }).click();
    await panel(appPage).waitFor();
  };
  for (const [tool, shown] of [
    ["list", "quince"],
    ["table", "intake"],
  ] as const) {
    const card = appPage.toolCall(tool);
    const closed = card.getByRole("button", { expanded: false });
    if ((await closed.count()) > 0) await closed.first().click();
    await preview(card);
    await panel(appPage).getByText(shown).first().waitFor();
    await panel(appPage).getByRole("button", { name: "Close preview" }).click();
  }
  await preview(appPage.answers.last().locator(".markdown"));
  const image = inner(appPage).getByRole("img", { name: "preview.svg" });
  await eventually(async () =>
    assert.deepEqual(
      await image.evaluate((one) => [
        (one as HTMLImageElement).naturalWidth,
        (one as HTMLImageElement).naturalHeight,
      ]),
      [240, 120],
    ),
  );
});

test("only finished blocks have a card, nothing moves, and text loads nothing for it", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  const loads = Promise.withResolvers<void>();
  await appPage.page.route(/\/rich-code-/u, async (route) => {
    await loads.promise;
    await route.continue();
  });
  const files: string[] = [];
  appPage.page.on("request", (request) => {
    if (/\/(?:preview|sandbox)/u.test(new URL(request.url()).pathname)) files.push(request.url());
  });
  await appPage.open();
  const rest = Promise.withResolvers<void>();
  fixture.model.answer(
    say("Some text.\n\n```html\n<p>one</p>\n"),
    hold(rest.promise),
    say("```\n\nThe end."),
  );
  await appPage.ask("A page");
  const block = appPage.answers.last().locator("figure");
  await block.getByText("<p>one</p>").waitFor();
  assert.equal(await openers(appPage).count(), 0);
  const before = await block.boundingBox();
  rest.resolve();
  // The card has its room before its code is there.
  const end = appPage.answers.last().getByText("The end.");
  await appPage.answered();
  const endBefore = await end.boundingBox();
  assert.equal(await openers(appPage).count(), 0);
  loads.resolve();
  await openers(appPage).waitFor();
  assert.deepEqual([await block.boundingBox(), await end.boundingBox()], [before, endBefore]);
  assert.equal(files.length, 0);
  await openers(appPage).click();
  await inner(appPage).getByText("one").waitFor();
  assert.ok(files.some((url) => url.includes("preview-panel")));
});
