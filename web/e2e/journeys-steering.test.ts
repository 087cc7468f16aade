import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect, looks } from "./look.ts";
import { breakOff, fail, hold, say } from "./scripted-model.ts";
import { openStage } from "./stage.ts";
import { eventually, type Visitor } from "./visitor.ts";

const stage = await openStage();
const never = new Promise<never>(() => undefined);

const focused = (visitor: Visitor) =>
  visitor.page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? "");

/** Asks, and waits for the whole answer. */
async function talk(visitor: Visitor, question: string, answer: string): Promise<void> {
  stage.model.answer(say(answer));
  await visitor.ask(question);
  await visitor.answers.getByText(answer, { exact: true }).waitFor();
  await visitor.answered();
}

test("words are changed and answered anew, and both versions stay, in every tab and after a reload", async (t) => {
  const { visitor } = await stage.member(t);
  await visitor.open();
  await talk(visitor, "Where in spring?", "Paris.");
  await talk(visitor, "And in summer?", "Rome.");
  const other = await visitor.anotherTab();
  await other.open();
  await other.answers.getByText("Rome.").waitFor();

  await visitor.composer.press("ArrowUp");
  const field = visitor.page.getByRole("textbox", { name: "Your message" });
  assert.equal(await field.inputValue(), "And in summer?");
  await field.press("Escape");
  await eventually(async () => assert.equal(await focused(visitor), "Edit message"));
  await visitor.questions.first().getByRole("button", { name: "Edit message" }).click();
  await field.fill("Where in autumn?");
  stage.model.answer(say("Lyon."));
  await field.press("Enter");
  for (const tab of [visitor, other]) {
    await tab.answers.getByText("Lyon.", { exact: true }).waitFor();
    await eventually(async () => assert.equal(await tab.questions.count(), 1));
    await tab.questions.getByText("2 / 2", { exact: true }).waitFor();
  }

  await visitor.button("Previous version").click();
  for (const tab of [visitor, other]) {
    await tab.answers.getByText("Rome.", { exact: true }).waitFor();
    await tab.questions.first().getByText("1 / 2", { exact: true }).waitFor();
    assert.equal(await tab.questions.count(), 2);
  }
  await eventually(async () => assert.equal(await focused(visitor), "Next version"));
  await visitor.page.reload();
  await visitor.questions.first().getByText("1 / 2", { exact: true }).waitFor();
  await visitor.seesNo("Lyon.");

  // What stands on another branch is found all the same.
  await visitor.openChats();
  await visitor.page.getByRole("searchbox").fill("lyon");
  await visitor.page.getByRole("button", { name: /Lyon\./u }).click();
  await visitor.answers.getByText("Lyon.", { exact: true }).waitFor();
  await visitor.questions.getByText("2 / 2", { exact: true }).waitFor();
});

test("an answer that broke off goes on, and any answer is had again", async (t) => {
  const { visitor } = await stage.member(t);
  stage.model.answer(say("Once upon"), breakOff);
  await visitor.open();
  await visitor.ask("Tell me a story");
  const more = visitor.answers.getByRole("button", { name: "Continue" });
  await more.waitFor();
  stage.model.answer(say("a time."));
  await more.click();
  await visitor.answers.getByText("a time.", { exact: true }).waitFor();
  await visitor.answered();
  assert.equal(await visitor.questions.count(), 1);
  await visitor.answers.getByText("Once upon", { exact: true }).waitFor();
  await talk(visitor, "Thank you", "Gladly.");

  stage.model.answer(say("Far, far away"));
  await visitor.answers.nth(1).getByRole("button", { name: "Regenerate" }).click();
  await visitor.answers.getByText("Far, far away", { exact: true }).waitFor();
  await visitor.answered();
  await visitor.seesNo("Gladly.");
  await visitor.answers.getByText("2 / 2", { exact: true }).waitFor();
  await visitor.button("Previous version").click();
  await visitor.answers.getByText("Gladly.", { exact: true }).waitFor();
  await visitor.answers.getByText("Once upon", { exact: true }).waitFor();
});

/** What waits, in order. */
const waiting = (visitor: Visitor) => visitor.page.getByRole("region", { name: /^(Queued:|Paused\.)/u });

test("what is sent during an answer waits, is changed, removed and sent at once, and an error leaves it waiting", async (t) => {
  const { visitor } = await stage.member(t);
  await visitor.open();
  stage.model.answer(say("One"), hold(never));
  await visitor.ask("one");
  await visitor.answers.getByText("One", { exact: true }).waitFor();
  for (const words of ["two", "away", "three"]) await visitor.ask(words);
  const list = waiting(visitor).getByRole("listitem");
  await list.nth(2).waitFor();
  assert.equal(await visitor.composer.inputValue(), "");
  await list.nth(1).getByRole("button", { name: "Remove queued message" }).click();
  await list.nth(2).waitFor({ state: "detached" });
  await list.nth(0).getByRole("button", { name: "Edit queued message" }).click();
  const field = visitor.page.getByRole("textbox", { name: "Queued message" });
  await field.fill("two, please");
  await field.press("Enter");
  await list.nth(0).getByText("two, please", { exact: true }).waitFor();
  await visitor.page.reload();
  await list.nth(1).getByText("three", { exact: true }).waitFor();

  stage.model.answer(fail(400, "the model has a headache"));
  await list.nth(1).getByRole("button", { name: "Send now" }).click();
  await visitor.questions.getByText("three", { exact: true }).waitFor();
  await visitor.answers.getByText(/the model has a headache/u).waitFor();
  await visitor.answers.getByText("Stopped", { exact: true }).waitFor();
  assert.equal(await list.count(), 1, "an error leaves the rest waiting");
  await visitor.page.getByRole("region", { name: /^Paused\./u }).waitFor();

  stage.model.answer(say("Three."));
  stage.model.answer(say("Two."));
  await visitor.ask("once more");
  await visitor.answers.getByText("Three.", { exact: true }).waitFor();
  await visitor.questions.getByText("two, please", { exact: true }).waitFor();
  await visitor.answers.getByText("Two.", { exact: true }).waitFor();
  await waiting(visitor).waitFor({ state: "detached" });
  await visitor.answered();
});

for (const [name, look] of looks) {
  test(`changing words and choosing among versions is free of accessibility faults at ${name}, and fits`, async (t) => {
    const { account, visitor } = await stage.member(t, look);
    const chat = await account.newChat();
    const call = {
      id: "1",
      name: "book",
      serverName: "inn",
      arguments: { day: "Monday" },
      outcome: "unknown",
    };
    const rows = [
      { role: "user", content: "Book a table", tool_calls: [] },
      { role: "assistant", content: "", tool_calls: [call] },
    ];
    for (const row of rows) await account.call("/rest/v1/ai_chat_messages", { session_id: chat, ...row });
    await visitor.open();
    stage.model.answer(say("It was booked."));
    await visitor.button("Check").click();
    await visitor.answers.getByText("It was booked.", { exact: true }).waitFor();
    await visitor.answered();
    stage.model.answer(say("It was not booked. ".repeat(20)), breakOff);
    await visitor.button("Try again").click();
    await visitor.answers.getByRole("button", { name: "Continue" }).waitFor();
    await visitor.answers.getByText("2 / 2", { exact: true }).waitFor();
    await inspect(visitor, "versions", look);
    await visitor.questions.first().getByRole("button", { name: "Edit message" }).click();
    await visitor.page.getByRole("textbox", { name: "Your message" }).fill("Book a table for two\non Monday");
    await inspect(visitor, "edit-words", look);
    await visitor.button("Cancel").click();
    stage.model.answer(say("One moment"), hold(never));
    await visitor.ask("Then book it");
    await visitor.answers.getByText("One moment", { exact: true }).waitFor();
    await visitor.ask("And tell me the number of the table, and what there is to eat, and when they close");
    await waiting(visitor).getByRole("listitem").waitFor();
    await visitor.composer.fill("One more thing");
    await inspect(visitor, "queue", look);
    await visitor.stop.click();
    await visitor.answered();
  });
}
