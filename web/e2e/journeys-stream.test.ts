import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startApp } from "./app.ts";
import { breakOff, call, fail, hold, reachLimit, say, think } from "./scripted-model.ts";
import { allowAll } from "./permission.ts";
import { serveTools } from "./scripted-mcp.ts";
import { startFixture } from "./fixture.ts";
import { eventually } from "./app-page.ts";
import { FlakyProxy } from "./flaky-proxy.ts";

const fixture = await startFixture();
const released = Promise.withResolvers<string>();
const printer = await serveTools([
  { name: "print", description: "Prints a page.", run: () => released.promise },
  { name: "jam", description: "Always jams.", run: () => Promise.reject(new Error("paper jam")) },
]);
after(() => printer.stop());

/** A promise that is never settled: the model hangs. */
const never = new Promise<never>(() => undefined);
/** Numbered words, so that a lost or doubled one shows. */
const words = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, at) => `w${from + at} `).join("");

test("while an answer is awaited the page says so, and only Stop can be pressed", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  const rest = Promise.withResolvers<void>();
  fixture.model.answer(hold(rest.promise), say("Here I am."));
  await appPage.open();
  await appPage.ask("Hello?");
  await appPage.sees("AI is thinking...");
  await appPage.questions.getByText("Hello?").waitFor();
  assert.ok(await appPage.stop.isEnabled());
  const place = await appPage.stop.boundingBox();
  await appPage.composer.fill("One more thing");
  assert.equal(await appPage.send.count(), 0, "with something to send, and waiting");
  assert.deepEqual(await appPage.button("Queue message").boundingBox(), place, "one place for all of it");
  await appPage.page
    .getByRole("log")
    .getByText(/^\d s$/u)
    .waitFor();
  assert.equal(await appPage.questions.count(), 1, "one turn at a time");
  rest.resolve();
  await appPage.answered();
  await appPage.seesNo("AI is thinking...");
  assert.ok(await appPage.send.isEnabled());
  assert.deepEqual(await appPage.send.boundingBox(), place);
});

test("Stop keeps what came so far", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  fixture.model.answer(say("So far, so good"), hold(never));
  await appPage.open();
  await appPage.ask("Tell me everything");
  await appPage.answers.getByText("So far, so good").waitFor();
  await appPage.stop.click();
  await appPage.answers.getByText("Stopped", { exact: true }).waitFor();
  await appPage.page.reload();
  await appPage.answers.getByText("So far, so good").waitFor();
  await appPage.answers.getByText("Stopped", { exact: true }).waitFor();
});

test("a model that fails leaves its reason, a toast and a way to try again", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  fixture.model.answer(fail(400, "the model has a headache"));
  await appPage.open();
  await appPage.ask("How are you?");
  const answer = appPage.answers.last();
  await answer.getByText(/the model has a headache/u).waitFor();
  await appPage.toast("Error", /the model has a headache/u);
  fixture.model.answer(say("Better, thank you."));
  await answer.getByRole("button", { name: "Try again" }).click();
  await appPage.answers.getByText("Better, thank you.").waitFor();
  await appPage.page.reload();
  await appPage.answers.getByText("Better, thank you.").waitFor();
  assert.equal(await appPage.questions.count(), 1);
  await appPage.button("Previous version").click();
  await appPage.answers.getByText(/the model has a headache/u).waitFor();
});

test("a model that breaks off keeps its words beside the reason", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  fixture.model.answer(say("I was just about to"), breakOff);
  await appPage.open();
  await appPage.ask("Say it");
  await appPage.answers.getByText("I was just about to").waitFor();
  await appPage.answers.getByRole("button", { name: "Try again" }).waitFor();
});

test("a message that the server refuses comes back into the input", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await appPage.composer.waitFor();
  await appPage.page.route("**/functions/v1/ai-chat", (route) =>
    route.fulfill({ status: 400, json: { error: "not today", code: "bad_request" } }),
  );
  await appPage.ask("Please");
  await appPage.toast("Error", "not today");
  assert.equal(await appPage.composer.inputValue(), "Please");
  await appPage.page.unroute("**/functions/v1/ai-chat");
  await appPage.page.route("**/functions/v1/ai-chat", (route) => route.abort());
  await appPage.composer.press("Enter");
  await appPage.toast("Error", "Failed to send message");
  await appPage.toast("Error", "Couldn't reach the server. Check your connection and try again.");
  assert.equal(await appPage.composer.inputValue(), "Please");
});

test("a server that has too much to do says when to try again", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await appPage.composer.waitFor();
  await appPage.page.route("**/functions/v1/ai-chat", (route) =>
    route.fulfill({
      status: 429,
      headers: { "retry-after": "7" },
      json: { error: "too much at once", code: "rate_limited" },
    }),
  );
  await appPage.ask("Please");
  await appPage.toast("Error", "too much at once");
  await appPage.toast("Error", "Try again in 7 s.");
  assert.equal(await appPage.composer.inputValue(), "Please");
});

test("a tool's card goes from running to done, and one that fails does not end the turn", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connect("printer", printer.url);
  await allowAll(account, "printer");
  fixture.model.answer(think("It wants paper."), call("print", {}), call("jam", {}));
  fixture.model.answer(say("One of two worked."));
  await appPage.open();
  await appPage.ask("Print it twice");
  const state = (tool: string) => appPage.toolCall(tool).getAttribute("data-state");
  await eventually(async () => assert.equal(await state("print"), "running"));
  await eventually(async () => assert.equal(await state("jam"), "failed"));
  await appPage.toolCall("jam").getByRole("button", { expanded: false }).click();
  await appPage.toolCall("jam").getByText("Error: paper jam").waitFor();
  released.resolve("two pages");
  await appPage.answered();
  assert.equal(await state("print"), "done");
  await appPage.answers.getByText("One of two worked.").waitFor();
  const [, told] = fixture.model.requests;
  assert.match(JSON.stringify(told?.messages), /paper jam/u, "the model saw the error");

  const [answer] = await account.call<{ tool_calls: { name: string; outcome: string }[] }[]>(
    "/rest/v1/ai_chat_messages?select=tool_calls&role=eq.assistant",
  );
  assert.deepEqual(
    answer?.tool_calls.map(({ name, outcome }) => [name, outcome]),
    [
      ["print", "done"],
      ["jam", "error"],
    ],
  );
});

test("a reload in the middle of an answer goes on where it is", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  const rest = Promise.withResolvers<void>();
  fixture.model.answer(say(words(0, 20)), hold(rest.promise), say(words(20, 40)));
  await appPage.open();
  await appPage.ask("Count");
  await appPage.answers.getByText(/w19/u).waitFor();
  await appPage.page.reload();
  await appPage.answers.getByText(/w19/u).waitFor();
  await appPage.stop.waitFor();
  rest.resolve();
  await appPage.answered();
  assert.equal((await appPage.answers.locator("p").first().innerText()).trim(), words(0, 40).trim());
  assert.equal(await appPage.questions.count(), 1);
});

test("a network that drops in the middle of an answer loses and doubles nothing", async (t) => {
  const proxy = await FlakyProxy.to(fixture.app.port);
  t.after(() => proxy.stop());
  const { appPage } = await fixture.openSignedInPage(t, { origin: proxy.url });
  const [early, rest] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  fixture.model.answer(
    say(words(0, 20)),
    hold(early.promise),
    say(words(20, 60)),
    hold(rest.promise),
    say(words(60, 80)),
  );
  await appPage.open();
  await appPage.ask("Count to eighty");
  await appPage.answers.getByText(/w19/u).waitFor();
  proxy.cut();
  await appPage.sees("Reconnecting...");
  // The server goes on by itself in the meantime.
  early.resolve();
  proxy.mend();
  await appPage.answers.getByText(/w59/u).waitFor();
  await appPage.seesNo("Reconnecting...");
  proxy.cut();
  proxy.mend();
  rest.resolve();
  await appPage.answered();
  assert.equal((await appPage.answers.locator("p").first().innerText()).trim(), words(0, 80).trim());
  assert.equal(await appPage.answers.count(), 1);
});

test("an answer goes on without anybody watching", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  const rest = Promise.withResolvers<void>();
  fixture.model.answer(say("Half"), hold(rest.promise), say(" and whole."));
  await appPage.open();
  await appPage.ask("Finish it alone");
  await appPage.answers.getByText("Half").waitFor();
  const later = await appPage.anotherTab();
  await appPage.page.close();
  rest.resolve();
  await later.open();
  await later.answers.getByText("Half and whole.").waitFor();
});

test("an answer at the model's limit is kept, marked as cut, and goes on", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  fixture.model.answer(say("Once upon"), reachLimit);
  await appPage.open();
  await appPage.ask("A story");
  await appPage.answers.getByText("Cut at the length limit", { exact: true }).waitFor();
  await appPage.page.reload();
  await appPage.answers.getByText("Cut at the length limit", { exact: true }).waitFor();
  fixture.model.answer(say("a time."));
  await appPage.answers.getByRole("button", { name: "Continue" }).click();
  await appPage.answers.getByText("a time.").waitFor();
  await appPage.answers.getByText("Once upon").waitFor();
});

for (const [how, signal] of [
  ["dies", "SIGKILL"],
  ["is stopped", "SIGTERM"],
] as const) {
  test(`a server that ${how} in the middle of an answer has kept it, and says that it was interrupted`, async (t) => {
    const env = { OPENAI_BASE_URL: fixture.model.baseUrl };
    const app = await startApp({ env });
    const { appPage } = await fixture.openSignedInPage(t, { origin: app.url });
    fixture.model.answer(say(words(0, 20)), hold(never));
    await appPage.open();
    await appPage.ask("Count");
    await appPage.answers.getByText(/w19/u).waitFor();
    // What streams is written down within a quarter of a second.
    await appPage.page.waitForTimeout(500);
    await app.stop({ signal, keepData: true });
    await appPage.sees("Reconnecting...");
    const again = await startApp({ env, data: app.data, port: app.port });
    t.after(() => again.stop());
    await appPage.answers.getByText("Interrupted", { exact: true }).waitFor();
    await appPage.answers.getByRole("button", { name: "Continue" }).waitFor();
    await appPage.page.reload();
    await appPage.answers.getByText("Interrupted", { exact: true }).waitFor();
    await appPage.questions.getByText("Count").waitFor();
    await appPage.answers.getByText(/w0 .*w19/u).waitFor();
    fixture.model.answer(say("Back again."));
    await appPage.answers.getByRole("button", { name: "Try again" }).click();
    await appPage.answers.getByText("Back again.").waitFor();
  });
}
