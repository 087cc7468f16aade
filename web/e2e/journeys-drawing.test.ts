import assert from "node:assert/strict";
import { test } from "node:test";
import { Drawing } from "./drawing.ts";
import { hold, say } from "./scripted-model.ts";
import { openStage } from "./stage.ts";

const stage = await openStage();
const words = (count: number) => Array.from({ length: count }, (_, at) => `word${at} `).join("");

test("while words stream in, one row is drawn, once a frame at most, and the composer is not", async (t) => {
  const { visitor } = await stage.member(t);
  const drawing = await Drawing.watch(visitor.page);
  await visitor.open();
  for (const question of ["One", "Two", "Three"]) {
    stage.model.answer(say(`**${question}** was asked.`));
    await visitor.ask(question);
    await visitor.answers.getByText(`${question} was asked.`).waitFor();
    await visitor.answered();
  }
  const [first, last] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  stage.model.answer(
    say("It begins. "),
    hold(first.promise),
    // Slower than frames, then as fast as the wire is.
    say(words(40), 30),
    say(words(400)),
    say("It ends."),
    hold(last.promise),
  );
  await visitor.ask("Count");
  await visitor.answers.getByText("It begins.").waitFor();
  const id = await visitor.answers.last().getAttribute("data-message");
  // What the question and the turns before still bring is no part of this.
  await drawing.rests();
  await drawing.start();
  first.resolve();
  await visitor.answers.getByText("It ends.").waitFor();
  const drawn = await drawing.stop();
  assert.ok(drawn.commits > 10, `only ${drawn.commits} commits were seen`);
  assert.deepEqual(drawn.rows, [id], "the rows that were drawn");
  assert.equal(drawn.mostRows, 1);
  assert.equal(drawn.actions, 0, "actions of answers were drawn");
  assert.equal(drawn.mostInAFrame, 1, "commits in a frame");
  assert.equal(drawn.composer, 0, "the composer was drawn");

  // The end brings the stored form of the question and of the answer. All others are as they were.
  await drawing.start();
  last.resolve();
  await visitor.answered();
  await drawing.rests();
  const ended = await drawing.stop();
  const shown = await visitor.page
    .locator("[data-message]")
    .evaluateAll((rows) => rows.map(({ dataset }) => dataset["message"]));
  assert.deepEqual(new Set(ended.rows), new Set(shown.slice(-2)), "the rows that the end drew");

  // What is counted can be counted.
  await drawing.start();
  await visitor.composer.fill("More");
  const typed = await drawing.stop();
  assert.ok(typed.composer > 0);
  assert.deepEqual(typed.rows, []);
});
