import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "./app-page.ts";
import { startFixture } from "./fixture.ts";
import { focusedName } from "./look.ts";
import { call, hold, say } from "./scripted-model.ts";
import { serveTools } from "./scripted-mcp.ts";

const fixture = await startFixture();
const post = await serveTools([{ name: "send", description: "Sends a letter.", run: () => "Sent." }]);
after(() => post.stop());

test("a message and the first sign of its answer are there before the server has it", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await appPage.composer.waitFor();
  const arrives = Promise.withResolvers<void>();
  await appPage.page.route("**/functions/v1/ai-chat", async (route) => {
    await arrives.promise;
    await route.continue();
  });
  fixture.model.answer(say("Hello."));
  await appPage.ask("Is anybody there?");
  await appPage.questions.getByText("Is anybody there?", { exact: true }).waitFor();
  await appPage.sees("AI is thinking...");
  await appPage.stop.waitFor();
  assert.equal(await appPage.composer.inputValue(), "");
  arrives.resolve();
  await appPage.answers.getByText("Hello.", { exact: true }).waitFor();
});

test("the focus is in the message field after Send, Stop and an approval by the mouse", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connect("post", post.url);
  await appPage.open();
  const isInField = () => eventually(async () => assert.equal(await focusedName(appPage), "Message"));
  fixture.model.answer(say("So far"), hold(new Promise(() => undefined)));
  await appPage.composer.fill("Tell me everything");
  await appPage.send.click();
  await isInField();
  await appPage.answers.getByText("So far", { exact: true }).waitFor();
  await appPage.stop.click();
  await appPage.answers.getByText("Stopped", { exact: true }).waitFor();
  await isInField();
  fixture.model.answer(call("send", {}));
  fixture.model.answer(say("It is sent."));
  await appPage.composer.fill("Send it");
  await appPage.send.click();
  await appPage.button("Allow once").click();
  await appPage.answers.getByText("It is sent.", { exact: true }).waitFor();
  await isInField();
});

test("Stop can be pressed once, and Escape does the same", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  const stops: string[] = [];
  const answers = Promise.withResolvers<void>();
  await appPage.page.route(/\/stop$/u, async (route) => {
    stops.push(route.request().url());
    await answers.promise;
    await route.continue();
  });
  fixture.model.answer(say("So far"), hold(new Promise(() => undefined)));
  await appPage.ask("Tell me everything");
  await appPage.answers.getByText("So far", { exact: true }).waitFor();
  await appPage.composer.press("Escape");
  await eventually(async () => assert.ok(await appPage.stop.isDisabled()));
  await appPage.composer.press("Escape");
  answers.resolve();
  await appPage.answers.getByText("Stopped", { exact: true }).waitFor();
  await appPage.send.waitFor();
  assert.equal(stops.length, 1);
});

test("the message field grows to 40 % of the window, then scrolls, and covers no message", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport: { width: 1000, height: 800 } });
  await account.fill(await account.newChat(), ["A question", "An answer. ".repeat(400)]);
  await appPage.open();
  await appPage.answers.first().waitFor();
  const heights = () =>
    appPage.composer.evaluate(({ clientHeight, scrollHeight }) => ({ clientHeight, scrollHeight }));
  const empty = await heights();
  await appPage.composer.fill("One line\nand another");
  await eventually(async () => assert.ok((await heights()).clientHeight > empty.clientHeight));
  await appPage.composer.fill("A line\n".repeat(60));
  await eventually(async () => {
    const { clientHeight, scrollHeight } = await heights();
    assert.ok(Math.abs(clientHeight - 0.4 * 800) <= 2, `${clientHeight} px high`);
    assert.ok(scrollHeight > clientHeight);
  });
  await appPage.button("Jump to latest").click();
  const end = await appPage.answers.last().boundingBox();
  const box = await appPage.page.locator("[data-composer]").boundingBox();
  assert.ok(end && box && end.y + end.height <= box.y);
});
