import assert from "node:assert/strict";
import { test } from "node:test";
import { say } from "./scripted-model.ts";
import { startFixture } from "./fixture.ts";
import { focusedName, inspect } from "./look.ts";
import { eventually } from "./app-page.ts";

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
