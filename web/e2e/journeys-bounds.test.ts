import assert from "node:assert/strict";
import { test } from "node:test";
import { hold, say } from "./scripted-model.ts";
import { startFixture } from "./fixture.ts";
import { eventually } from "./app-page.ts";

const fixture = await startFixture({ CHAT_MAX_TURNS_PER_USER: "1" });

const words = "You already have 1 response in progress. Wait for one to finish.";

test("who asks too much at once is told when to try again, and keeps the words", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  const held = Promise.withResolvers<void>();
  fixture.model.answer(say("One"), hold(held.promise), say(" moment."));
  await appPage.ask("First question");
  await appPage.answers.getByText("One").waitFor();

  await appPage.newChat.click();
  await eventually(async () => assert.equal(await appPage.questions.count(), 0));
  await appPage.ask("Second question");
  await appPage.toast("Error", words);
  await appPage.toast("Error", "Try again in 5 s.");
  await eventually(async () => assert.equal(await appPage.composer.inputValue(), "Second question"));

  held.resolve();
  fixture.model.answer(say("Here you are."));
  await eventually(async () => {
    await appPage.composer.press("Enter");
    await appPage.answers.getByText("Here you are.").waitFor({ timeout: 1_000 });
  });
});
