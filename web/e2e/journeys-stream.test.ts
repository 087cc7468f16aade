import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startApp } from "./app.ts";
import { breakOff, call, fail, hold, say, think } from "./scripted-model.ts";
import { allowAll } from "./permission.ts";
import { serveTools } from "./scripted-mcp.ts";
import { openStage } from "./stage.ts";
import { eventually } from "./visitor.ts";
import { Wire } from "./wire.ts";

const stage = await openStage();
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
  const { visitor } = await stage.member(t);
  const rest = Promise.withResolvers<void>();
  stage.model.answer(hold(rest.promise), say("Here I am."));
  await visitor.open();
  await visitor.ask("Hello?");
  await visitor.sees("AI is thinking...");
  await visitor.questions.getByText("Hello?").waitFor();
  assert.ok(await visitor.stop.isEnabled());
  await visitor.composer.fill("One more thing");
  assert.ok(await visitor.send.isDisabled(), "with something to send, and waiting");
  assert.equal(await visitor.questions.count(), 1, "one turn at a time");
  rest.resolve();
  await visitor.answered();
  await visitor.seesNo("AI is thinking...");
  assert.ok(await visitor.send.isEnabled());
});

test("Stop keeps what came so far", async (t) => {
  const { visitor } = await stage.member(t);
  stage.model.answer(say("So far, so good"), hold(never));
  await visitor.open();
  await visitor.ask("Tell me everything");
  await visitor.answers.getByText("So far, so good").waitFor();
  await visitor.stop.click();
  await visitor.answers.getByText("Stopped", { exact: true }).waitFor();
  await visitor.page.reload();
  await visitor.answers.getByText("So far, so good").waitFor();
  await visitor.answers.getByText("Stopped", { exact: true }).waitFor();
});

test("a model that fails leaves its reason, a toast and a way to try again", async (t) => {
  const { visitor } = await stage.member(t);
  stage.model.answer(fail(400, "the model has a headache"));
  await visitor.open();
  await visitor.ask("How are you?");
  const answer = visitor.answers.last();
  await answer.getByText(/the model has a headache/u).waitFor();
  await visitor.toast("Error", /the model has a headache/u);
  stage.model.answer(say("Better, thank you."));
  await answer.getByRole("button", { name: "Try again" }).click();
  await visitor.answers.getByText("Better, thank you.").waitFor();
  await visitor.page.reload();
  await visitor.answers.getByText("Better, thank you.").waitFor();
  assert.equal(await visitor.questions.count(), 1);
  await visitor.button("Previous version").click();
  await visitor.answers.getByText(/the model has a headache/u).waitFor();
});

test("a model that breaks off keeps its words beside the reason", async (t) => {
  const { visitor } = await stage.member(t);
  stage.model.answer(say("I was just about to"), breakOff);
  await visitor.open();
  await visitor.ask("Say it");
  await visitor.answers.getByText("I was just about to").waitFor();
  await visitor.answers.getByRole("button", { name: "Try again" }).waitFor();
});

test("a message that the server refuses comes back into the input", async (t) => {
  const { visitor } = await stage.member(t);
  await visitor.open();
  await visitor.composer.waitFor();
  await visitor.page.route("**/functions/v1/ai-chat", (route) =>
    route.fulfill({ status: 400, json: { error: "not today", code: "bad_request" } }),
  );
  await visitor.ask("Please");
  await visitor.toast("Error", "not today");
  assert.equal(await visitor.composer.inputValue(), "Please");
  await visitor.page.unroute("**/functions/v1/ai-chat");
  await visitor.page.route("**/functions/v1/ai-chat", (route) => route.abort());
  await visitor.composer.press("Enter");
  await visitor.toast("Error", "Failed to send message");
  await visitor.toast("Error", "Couldn't reach the server. Check your connection and try again.");
  assert.equal(await visitor.composer.inputValue(), "Please");
});

test("a server that has too much to do says when to try again", async (t) => {
  const { visitor } = await stage.member(t);
  await visitor.open();
  await visitor.composer.waitFor();
  await visitor.page.route("**/functions/v1/ai-chat", (route) =>
    route.fulfill({
      status: 429,
      headers: { "retry-after": "7" },
      json: { error: "too much at once", code: "rate_limited" },
    }),
  );
  await visitor.ask("Please");
  await visitor.toast("Error", "too much at once");
  await visitor.toast("Error", "Try again in 7 s.");
  assert.equal(await visitor.composer.inputValue(), "Please");
});

test("a tool's card goes from running to done, and one that fails does not end the turn", async (t) => {
  const { account, visitor } = await stage.member(t);
  await account.connect("printer", printer.url);
  await allowAll(account, "printer");
  stage.model.answer(think("It wants paper."), call("print", {}), call("jam", {}));
  stage.model.answer(say("One of two worked."));
  await visitor.open();
  await visitor.ask("Print it twice");
  const state = (tool: string) => visitor.toolCall(tool).getAttribute("data-state");
  await eventually(async () => assert.equal(await state("print"), "running"));
  await eventually(async () => assert.equal(await state("jam"), "failed"));
  await visitor.toolCall("jam").getByRole("button", { expanded: false }).click();
  await visitor.toolCall("jam").getByText("Error: paper jam").waitFor();
  released.resolve("two pages");
  await visitor.answered();
  assert.equal(await state("print"), "done");
  await visitor.answers.getByText("One of two worked.").waitFor();
  const [, told] = stage.model.requests;
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
  const { visitor } = await stage.member(t);
  const rest = Promise.withResolvers<void>();
  stage.model.answer(say(words(0, 20)), hold(rest.promise), say(words(20, 40)));
  await visitor.open();
  await visitor.ask("Count");
  await visitor.answers.getByText(/w19/u).waitFor();
  await visitor.page.reload();
  await visitor.answers.getByText(/w19/u).waitFor();
  await visitor.stop.waitFor();
  rest.resolve();
  await visitor.answered();
  assert.equal((await visitor.answers.locator("p").first().innerText()).trim(), words(0, 40).trim());
  assert.equal(await visitor.questions.count(), 1);
});

test("a network that drops in the middle of an answer loses and doubles nothing", async (t) => {
  const wire = await Wire.to(stage.app.port);
  t.after(() => wire.stop());
  const { visitor } = await stage.member(t, { origin: wire.url });
  const [early, rest] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  stage.model.answer(
    say(words(0, 20)),
    hold(early.promise),
    say(words(20, 60)),
    hold(rest.promise),
    say(words(60, 80)),
  );
  await visitor.open();
  await visitor.ask("Count to eighty");
  await visitor.answers.getByText(/w19/u).waitFor();
  wire.cut();
  await visitor.sees("Reconnecting...");
  // The server goes on by itself in the meantime.
  early.resolve();
  wire.mend();
  await visitor.answers.getByText(/w59/u).waitFor();
  await visitor.seesNo("Reconnecting...");
  wire.cut();
  wire.mend();
  rest.resolve();
  await visitor.answered();
  assert.equal((await visitor.answers.locator("p").first().innerText()).trim(), words(0, 80).trim());
  assert.equal(await visitor.answers.count(), 1);
});

test("an answer goes on without anybody watching", async (t) => {
  const { visitor } = await stage.member(t);
  const rest = Promise.withResolvers<void>();
  stage.model.answer(say("Half"), hold(rest.promise), say(" and whole."));
  await visitor.open();
  await visitor.ask("Finish it alone");
  await visitor.answers.getByText("Half").waitFor();
  const later = await visitor.anotherTab();
  await visitor.page.close();
  rest.resolve();
  await later.open();
  await later.answers.getByText("Half and whole.").waitFor();
});

for (const [how, signal] of [
  ["dies", "SIGKILL"],
  ["is stopped", "SIGTERM"],
] as const) {
  test(`a server that ${how} in the middle of an answer has kept it, and says that it was interrupted`, async (t) => {
    const env = { OPENAI_BASE_URL: stage.model.baseUrl };
    const app = await startApp({ env });
    const { visitor } = await stage.member(t, { origin: app.url });
    stage.model.answer(say(words(0, 20)), hold(never));
    await visitor.open();
    await visitor.ask("Count");
    await visitor.answers.getByText(/w19/u).waitFor();
    // What streams is written down within a quarter of a second.
    await visitor.page.waitForTimeout(500);
    await app.stop({ signal, keepData: true });
    await visitor.sees("Reconnecting...");
    const again = await startApp({ env, data: app.data, port: app.port });
    t.after(() => again.stop());
    await visitor.answers.getByText("Interrupted", { exact: true }).waitFor();
    await visitor.answers.getByRole("button", { name: "Continue" }).waitFor();
    await visitor.page.reload();
    await visitor.answers.getByText("Interrupted", { exact: true }).waitFor();
    await visitor.questions.getByText("Count").waitFor();
    await visitor.answers.getByText(/w0 .*w19/u).waitFor();
    stage.model.answer(say("Back again."));
    await visitor.answers.getByRole("button", { name: "Try again" }).click();
    await visitor.answers.getByText("Back again.").waitFor();
  });
}
