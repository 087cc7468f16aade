import assert from "node:assert/strict";
import { test } from "node:test";
import { startCounting, stopCounting, watchDrawing } from "./drawing.ts";
import { hold, say } from "./scripted-model.ts";
import { openStage } from "./stage.ts";

const stage = await openStage();
const words = (count: number) => Array.from({ length: count }, (_, at) => `word${at} `).join("");

test("while words stream in, one row is drawn, once a frame at most, and the composer is not", async (t) => {
  const { visitor } = await stage.member(t);
  await watchDrawing(visitor.page);
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
    say(words(20), 30),
    say(words(400)),
    say("It ends."),
    hold(last.promise),
  );
  await visitor.ask("Count");
  await visitor.answers.getByText("It begins.").waitFor();
  const id = await visitor.answers.last().getAttribute("data-message");
  await startCounting(visitor.page);
  first.resolve();
  await visitor.answers.getByText("It ends.").waitFor();
  const drawn = await stopCounting(visitor.page);
  last.resolve();
  assert.ok(drawn.commits > 10, `only ${drawn.commits} commits were seen`);
  assert.deepEqual(drawn.rows, [id], "the rows that were drawn");
  assert.equal(drawn.mostRows, 1);
  assert.equal(drawn.mostInAFrame, 1, "commits in a frame");
  assert.equal(drawn.composer, 0, "the composer was drawn");
  await visitor.answered();

  // What is counted can be counted.
  await startCounting(visitor.page);
  await visitor.composer.fill("More");
  const typed = await stopCounting(visitor.page);
  assert.ok(typed.composer > 0);
  assert.deepEqual(typed.rows, []);
});
