import assert from "node:assert/strict";
import { test } from "node:test";
import { hold, say } from "./scripted-model.ts";
import { openStage } from "./stage.ts";
import { eventually } from "./visitor.ts";

const stage = await openStage({ CHAT_MAX_RUNS_PER_USER: "1" });

const words = "as many of your answers are being written as may be at once (1); wait until one has ended";

test("who asks too much at once is told when to try again, and keeps the words", async (t) => {
  const { visitor } = await stage.member(t);
  await visitor.open();
  const held = Promise.withResolvers<void>();
  stage.model.answer(say("One"), hold(held.promise), say(" moment."));
  await visitor.ask("First question");
  await visitor.answers.getByText("One").waitFor();

  await visitor.button("New Chat").click();
  await eventually(async () => assert.equal(await visitor.questions.count(), 0));
  await visitor.ask("Second question");
  await visitor.toast("Error", words);
  await visitor.toast("Error", "Try again in 5 s.");
  await eventually(async () => assert.equal(await visitor.composer.inputValue(), "Second question"));

  held.resolve();
  stage.model.answer(say("Here you are."));
  await eventually(async () => {
    await visitor.composer.press("Enter");
    await visitor.answers.getByText("Here you are.").waitFor({ timeout: 1_000 });
  });
});
