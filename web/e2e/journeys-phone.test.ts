import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator } from "playwright-core";
import { say } from "./scripted-model.ts";
import { startFixture } from "./fixture.ts";
import { focusedName, inspect } from "./look.ts";
import { type AppPage, eventually } from "./app-page.ts";

const fixture = await startFixture();

const windows = [
  { name: "a phone with its keyboard open", viewport: { width: 390, height: 460 }, letters: "100%" },
  { name: "a phone with letters of twice the size", viewport: { width: 390, height: 844 }, letters: "200%" },
  {
    name: "a screen with letters of twice the size",
    viewport: { width: 1280, height: 800 },
    letters: "200%",
  },
];

for (const { name, viewport, letters } of windows) {
  test(`${name} leaves 200 px to read, and all that can be done in reach`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, {
      viewport,
      hasTouch: viewport.width < 500,
    });
    await account.connect("my-tools", `${fixture.app.url}/mcp/toolbox`);
    await account.fill(await account.newChat(), ["A question", "An answer"]);
    await appPage.open();
    await appPage.answers.getByText("An answer").waitFor();
    await appPage.page.evaluate((size) => (document.documentElement.style.fontSize = size), letters);
    if (process.env["SCREENSHOTS"])
      await appPage.page.screenshot({
        path: `${process.env["SCREENSHOTS"]}/short-${viewport.width}-${letters}.png`,
      });
    await eventually(async () => {
      const height = await appPage.page.evaluate(() => {
        const head = document.querySelector("[data-head]")?.getBoundingClientRect().bottom ?? 0;
        return (document.querySelector("[data-composer]")?.getBoundingClientRect().top ?? 0) - head;
      });
      assert.ok(height >= 200, `${height} px are left to read`);
    });
    for (const reachable of [
      appPage.tab("MCP Servers"),
      appPage.button("Account").or(appPage.button("Sign Out")),
      appPage.newChat,
    ]) {
      await reachable.scrollIntoViewIfNeeded();
      await reachable.click({ trial: true });
    }
    assert.equal(await appPage.page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
  });
}

test("a small phone has one row of tabs, the account behind its letter, and 55 % to read", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, {
    viewport: { width: 360, height: 640 },
    hasTouch: true,
  });
  await account.connect("my-tools", `${fixture.app.url}/mcp/toolbox`);
  await account.fill(await account.newChat(), ["A question", "An answer"]);
  await appPage.open();
  await appPage.answers.getByText("An answer").waitFor();
  await appPage.page.getByRole("button", { name: "current_time" }).waitFor();
  const readable = await appPage.page.getByRole("group", { name: "Conversation" }).boundingBox();
  assert.ok(readable && readable.height >= 0.55 * 640, `${readable?.height} px are left to read`);
  await appPage.composer.focus();
  await appPage.page.getByRole("button", { name: "current_time" }).waitFor({ state: "hidden" });
  await appPage.button("Account").click();
  await appPage.sees(account.email);
  await inspect(appPage, "phone-account", {
    viewport: { width: 360, height: 640 },
    colorScheme: "light",
    hasTouch: true,
  });
  await appPage.button("Settings").click();
  await appPage.sheet.waitFor();
  await appPage.page.keyboard.press("Escape");
  await eventually(async () => assert.equal(await focusedName(appPage), "Account"));
  await appPage.pressInHeader("Sign Out");
  await appPage.arrivesAt("/auth");
});

test("Enter makes a line on a touch keyboard, and Send sends both", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t, {
    viewport: { width: 390, height: 844 },
    hasTouch: true,
  });
  await appPage.open();
  await appPage.composer.fill("One");
  await appPage.composer.press("Enter");
  await appPage.page.keyboard.type("two");
  assert.equal(await appPage.composer.inputValue(), "One\ntwo");
  fixture.model.answer(say("Two lines."));
  await appPage.send.tap();
  await appPage.answers.getByText("Two lines.").waitFor();
  assert.equal(await appPage.questions.first().getByText("One\ntwo").count(), 1);
});

/** Presses a finger on a point for longer than the browsers' own long press. */
async function pressLong({ page }: AppPage, on: Locator): Promise<void> {
  const box = await on.boundingBox();
  assert.ok(box);
  const session = await page.context().newCDPSession(page);
  const touchPoints = [{ x: box.x + box.width / 2, y: box.y + Math.min(box.height / 2, 20) }];
  await session.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints });
  await page
    .getByRole("dialog")
    .waitFor({ timeout: 1_500 })
    .catch(() => undefined);
  await session.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  await session.detach();
}

const phones = [320, 360].map((width) => ({
  viewport: { width, height: 640 },
  colorScheme: "light" as const,
  hasTouch: true,
}));

for (const look of phones) {
  test(`a long press opens the actions of a message at ${look.viewport.width} px`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, look);
    await account.fill(await account.newChat(), ["A question", "An answer"]);
    await appPage.open();
    const actions = appPage.page.getByRole("dialog", { name: "Message actions" });
    await appPage.answers.getByText("An answer").waitFor();
    await appPage.page.getByRole("button", { name: "Edit message" }).waitFor();

    await pressLong(appPage, appPage.answers.getByText("An answer"));
    await actions.getByRole("button", { name: "Regenerate" }).waitFor();
    await inspect(appPage, "phone-message-actions", look);
    await actions.getByRole("button", { name: "Select text" }).tap();
    await actions.waitFor({ state: "detached" });
    const selected = () => appPage.page.evaluate(() => getSelection()?.toString().trim());
    assert.equal(await selected(), "An answer");

    // What is selected is moved by a long press, which belongs to the browser then.
    await pressLong(appPage, appPage.questions.getByText("A question"));
    assert.equal(await actions.count(), 0);

    await appPage.page.evaluate(() => getSelection()?.removeAllRanges());
    await pressLong(appPage, appPage.questions.getByText("A question"));
    await actions.getByRole("button", { name: "Edit message" }).tap();
    await appPage.field("Your message").waitFor();
    assert.equal(await actions.count(), 0);
  });
}

test("one's own message is copied from the actions of a long press", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, {
    viewport: { width: 360, height: 640 },
    hasTouch: true,
    permissions: ["clipboard-read", "clipboard-write"],
  });
  await account.fill(await account.newChat(), ["A question", "An answer"]);
  await appPage.open();
  await appPage.page.getByRole("button", { name: "Edit message" }).waitFor();
  await pressLong(appPage, appPage.questions.getByText("A question"));
  const actions = appPage.page.getByRole("dialog", { name: "Message actions" });
  await actions.getByRole("button", { name: "Copy message" }).tap();
  await appPage.sees("Copied");
  assert.equal(await appPage.page.evaluate(() => navigator.clipboard.readText()), "A question");
});

test("a phone's sheet opens from below and closes when it is dragged down", async (t) => {
  const look = { viewport: { width: 360, height: 640 }, colorScheme: "light" as const, hasTouch: true };
  const { account, appPage } = await fixture.openSignedInPage(t, look);
  await account.fill(await account.newChat(), ["A question", "An answer"]);
  await appPage.open();
  await appPage.page.getByRole("button", { name: "Edit message" }).waitFor();
  await pressLong(appPage, appPage.answers.getByText("An answer"));
  await appPage.sheet.waitFor();
  const sheet = await appPage.sheet.boundingBox();
  assert.ok(sheet && sheet.y > 0 && sheet.y + sheet.height === 640 && sheet.width === 360);
  const session = await appPage.page.context().newCDPSession(appPage.page);
  const at = (y: number) => [{ x: 180, y }];
  await session.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: at(sheet.y + 20) });
  for (let moved = 20; moved <= 200; moved += 20)
    await session.send("Input.dispatchTouchEvent", {
      type: "touchMove",
      touchPoints: at(sheet.y + 20 + moved),
    });
  await session.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  await appPage.sheet.waitFor({ state: "detached" });
});

test("nothing that is used stands below a notch or the bar of the system", async (t) => {
  const look = { viewport: { width: 360, height: 640 }, colorScheme: "light" as const, hasTouch: true };
  const { account, appPage } = await fixture.openSignedInPage(t, look);
  await account.fill(await account.newChat(), ["A question", "An answer"]);
  const session = await appPage.page.context().newCDPSession(appPage.page);
  await session.send("Emulation.setSafeAreaInsetsOverride", { insets: { top: 40, bottom: 30 } });
  await appPage.open();
  await appPage.answers.getByText("An answer").waitFor();
  await inspect(appPage, "phone-notch", look);
  const tabs = await appPage.tab("MCP Servers").boundingBox();
  assert.ok(tabs && tabs.y >= 40);
  const composer = await appPage.page.locator("[data-composer]").boundingBox();
  assert.ok(composer && composer.y + composer.height <= 610);
  await appPage.button("Account").click();
  await appPage.button("Settings").click();
  await appPage.sheet.waitFor();
  const close = await appPage.sheet.getByRole("button", { name: "Close" }).first().boundingBox();
  assert.ok(close && close.y >= 40, `the sheet's button begins at ${close?.y}`);
  await appPage.page.keyboard.press("Escape");
  await appPage.sheet.waitFor({ state: "detached" });
  await pressLong(appPage, appPage.answers.getByText("An answer"));
  const last = await appPage.sheet.getByRole("button", { name: "Select text" }).boundingBox();
  assert.ok(last && last.y + last.height <= 610, `the last action ends at ${last && last.y + last.height}`);
});
