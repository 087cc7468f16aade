import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Locator } from "playwright-core";
import { type AppPage, eventually } from "./app-page.ts";
import { startFixture } from "./fixture.ts";
import { inspect, looks } from "./look.ts";
import { say } from "./scripted-model.ts";
import { Settings } from "./settings.ts";

const fixture = await startFixture();

const answer =
  "# Packing\n\nTake a `coat`.\n\n| Item | Weight |\n| - | - |\n| Coat | 2 kg |\n\n```js\nlet a = 1;\n```";

async function openChat(t: TestContext): Promise<AppPage> {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.fill(await account.newChat("Packing"), ["What do I take?", answer]);
  await appPage.open();
  await appPage.answers.getByRole("table").waitFor();
  return appPage;
}

/** Chooses a value in the section of the settings that is open. */
async function choose({ page }: AppPage, setting: string, value: string): Promise<void> {
  await page
    .getByRole("radiogroup", { name: setting })
    .getByRole("radio", { name: value, exact: true })
    // Not `check`, which fails if the choice of a language replaces the element.
    .click();
}

function fontSize(element: Locator): Promise<number> {
  return element.evaluate((one) => Number.parseFloat(getComputedStyle(one).fontSize));
}

test("the text size is that of answers and messages, in all tabs and after a reload", async (t) => {
  const appPage = await openChat(t);
  const other = await appPage.anotherTab();
  await other.open();
  await other.answers.getByRole("table").waitFor();
  const sizes = ({ page, answers }: AppPage) =>
    Promise.all(
      [
        page.getByRole("article").getByText("What do I take?"),
        answers.getByText("Take a"),
        answers.getByRole("heading", { name: "Packing" }),
        answers.locator("code").first(),
        answers.getByRole("table"),
      ].map(fontSize),
    );
  const before = await sizes(appPage);
  assert.deepEqual(before.slice(0, 2), [16, 16]);
  await Settings.open(appPage, "Appearance");
  await choose(appPage, "Text size", "20");
  const larger = before.map((size) => size * 1.25);
  assert.deepEqual(await sizes(appPage), larger);
  await eventually(async () => assert.deepEqual(await sizes(other), larger));
  await other.page.reload();
  await other.answers.getByRole("table").waitFor();
  assert.deepEqual(await sizes(other), larger);
  await choose(appPage, "Text size", "16");
  await eventually(async () => assert.deepEqual(await sizes(other), before));
});

test("compact messages stand closer together, in all tabs and after a reload", async (t) => {
  const appPage = await openChat(t);
  const other = await appPage.anotherTab();
  await other.open();
  await other.answers.getByRole("table").waitFor();
  const gap = ({ page }: AppPage) =>
    page
      .locator("article[data-role=user]")
      .first()
      .evaluate((one) => {
        const next = one.parentElement?.querySelector("article[data-role=assistant]");
        return (next?.getBoundingClientRect().top ?? 0) - one.getBoundingClientRect().bottom;
      });
  const comfortable = await gap(appPage);
  await Settings.open(appPage, "Appearance");
  await choose(appPage, "Density", "Compact");
  const compact = await gap(appPage);
  assert.ok(compact <= comfortable - 12, `${compact} px instead of ${comfortable} px`);
  await eventually(async () => assert.equal(await gap(other), compact));
  await other.page.reload();
  await other.answers.getByRole("table").waitFor();
  assert.equal(await gap(other), compact);
});

test("one of Enter and Control+Enter sends, and the other one starts a new line", async (t) => {
  const appPage = await openChat(t);
  const { composer, page } = appPage;
  await composer.fill("One");
  await composer.press("Control+Enter");
  assert.equal(await composer.inputValue(), "One\n");
  await composer.press("Control+z");
  assert.equal(await composer.inputValue(), "One");
  await composer.press("Control+Enter");
  await page.keyboard.type("two");
  assert.equal(await composer.inputValue(), "One\ntwo");
  fixture.model.answer(say("Sent by Enter."));
  await composer.press("Enter");
  await appPage.answers.getByText("Sent by Enter.").waitFor();
  await appPage.answered();

  await Settings.open(appPage, "Appearance");
  await choose(appPage, "Send with", "Ctrl Enter");
  await page.keyboard.press("Escape");
  await composer.fill("Three");
  await composer.press("Enter");
  await page.keyboard.type("four");
  assert.equal(await composer.inputValue(), "Three\nfour");
  fixture.model.answer(say("Sent by both keys."));
  await composer.press("Control+Enter");
  await appPage.answers.getByText("Sent by both keys.").waitFor();
  assert.equal(await composer.inputValue(), "");
});

test("a theme and a language are followed by the other tabs at once", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await appPage.composer.waitFor();
  const other = await appPage.anotherTab();
  await other.open("/?settings=appearance");
  const root = other.page.locator("html");
  const radio = (group: string, name: string) =>
    other.page.getByRole("radiogroup", { name: group }).getByRole("radio", { name, exact: true });
  await radio("Theme", "System").waitFor();
  await Settings.open(appPage, "Appearance");
  await choose(appPage, "Theme", "Dark");
  await eventually(async () => assert.equal(await root.getAttribute("data-theme"), "dark"));
  await eventually(async () => assert.ok(await radio("Theme", "Dark").isChecked()));
  await choose(appPage, "Language", "Deutsch");
  await other.page.getByRole("heading", { name: "Darstellung" }).waitFor();
  await eventually(async () => assert.ok(await radio("Sprache", "Deutsch").isChecked()));
  await choose(appPage, "Design", "System");
  await eventually(async () => assert.equal(await root.getAttribute("data-theme"), null));
});

for (const [name, look] of looks) {
  test(`the largest letters and compact messages are free of accessibility faults at ${name}, and fit`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, { ...look });
    await account.fill(await account.newChat("Packing"), ["What do I take?", answer]);
    await appPage.open();
    await Settings.open(appPage, "Appearance");
    await choose(appPage, "Text size", "20");
    await choose(appPage, "Density", "Compact");
    const isPhone = look.hasTouch;
    const sendWith = appPage.page.getByRole("radiogroup", { name: "Send with" });
    assert.equal(await sendWith.count(), isPhone ? 0 : 1, "touch keyboards have nothing to choose");
    await inspect(appPage, "appearance", look);
    await appPage.page.keyboard.press("Escape");
    await appPage.answers.getByRole("table").waitFor();
    await inspect(appPage, "appearance-chat", look);
  });
}
