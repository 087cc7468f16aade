import assert from "node:assert/strict";
import { test } from "node:test";
import { Drawing } from "./drawing.ts";
import { hold, say } from "./scripted-model.ts";
import { startFixture } from "./fixture.ts";

const fixture = await startFixture();
const words = (count: number) => Array.from({ length: count }, (_, at) => `word${at} `).join("");

test("while words stream in, one row is drawn, once a frame at most, and the composer is not", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  const drawing = await Drawing.watch(appPage.page);
  await appPage.open();
  for (const question of ["One", "Two", "Three"]) {
    fixture.model.answer(say(`**${question}** was asked.`));
    await appPage.ask(question);
    await appPage.answers.getByText(`${question} was asked.`).waitFor();
    await appPage.answered();
  }
  const [first, last] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  fixture.model.answer(
    say("It begins. "),
    hold(first.promise),
    // Slower than frames, then as fast as the wire is.
    say(words(40), 30),
    say(words(400)),
    say("It ends."),
    hold(last.promise),
  );
  await appPage.ask("Count");
  await appPage.answers.getByText("It begins.").waitFor();
  const id = await appPage.answers.last().getAttribute("data-message");
  // What the question and the turns before still bring is no part of this.
  await drawing.rests();
  await drawing.start();
  first.resolve();
  await appPage.answers.getByText("It ends.").waitFor();
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
  await appPage.answered();
  await drawing.rests();
  const ended = await drawing.stop();
  const shown = await appPage.page
    .locator("[data-message]")
    .evaluateAll((rows) => rows.map(({ dataset }) => dataset["message"]));
  assert.deepEqual(new Set(ended.rows), new Set(shown.slice(-2)), "the rows that the end drew");

  // What is counted can be counted.
  await drawing.start();
  await appPage.composer.fill("More");
  const typed = await drawing.stop();
  assert.ok(typed.composer > 0);
  assert.deepEqual(typed.rows, []);
});
