import assert from "node:assert/strict";
import { test } from "node:test";
import { say } from "./scripted-model.ts";
import { openStage } from "./stage.ts";
import { eventually } from "./visitor.ts";

const stage = await openStage();

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
    const { account, visitor } = await stage.member(t, { viewport, hasTouch: viewport.width < 500 });
    await account.connect("my-tools", `${stage.app.url}/mcp/toolbox`);
    await account.fill(await account.newChat(), ["A question", "An answer"]);
    await visitor.open();
    await visitor.answers.getByText("An answer").waitFor();
    await visitor.page.evaluate((size) => (document.documentElement.style.fontSize = size), letters);
    if (process.env["SCREENSHOTS"])
      await visitor.page.screenshot({
        path: `${process.env["SCREENSHOTS"]}/short-${viewport.width}-${letters}.png`,
      });
    await eventually(async () => {
      const height = await visitor.page.evaluate(() => {
        const head = document.querySelector("[data-head]")?.getBoundingClientRect().bottom ?? 0;
        return (document.querySelector("[data-composer]")?.getBoundingClientRect().top ?? 0) - head;
      });
      assert.ok(height >= 200, `${height} px are left to read`);
    });
    for (const reachable of [
      visitor.tab("MCP Servers"),
      visitor.button("Sign Out"),
      visitor.button("New Chat"),
    ]) {
      await reachable.scrollIntoViewIfNeeded();
      await reachable.click({ trial: true });
    }
    assert.equal(await visitor.page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
  });
}

test("Enter makes a line on a touch keyboard, and Send sends both", async (t) => {
  const { visitor } = await stage.member(t, { viewport: { width: 390, height: 844 }, hasTouch: true });
  await visitor.open();
  await visitor.composer.fill("One");
  await visitor.composer.press("Enter");
  await visitor.page.keyboard.type("two");
  assert.equal(await visitor.composer.inputValue(), "One\ntwo");
  stage.model.answer(say("Two lines."));
  await visitor.send.tap();
  await visitor.answers.getByText("Two lines.").waitFor();
  assert.equal(await visitor.questions.first().getByText("One\ntwo").count(), 1);
});
