import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator } from "playwright-core";
import { holdToast, inspect, looks } from "./look.ts";
import { breakOff, fail, hold, say } from "./scripted-model.ts";
import { startFixture } from "./fixture.ts";
import { eventually, type AppPage } from "./app-page.ts";

const fixture = await startFixture();
const never = new Promise<never>(() => undefined);

const focused = (appPage: AppPage) =>
  appPage.page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? "");

/** Asks, and waits for the whole answer. */
async function talk(appPage: AppPage, question: string, answer: string): Promise<void> {
  fixture.model.answer(say(answer));
  await appPage.ask(question);
  await appPage.answers.getByText(answer, { exact: true }).waitFor();
  await appPage.answered();
}

test("words are changed and answered anew, and both versions stay, in every tab and after a reload", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await talk(appPage, "Where in spring?", "Paris.");
  await talk(appPage, "And in summer?", "Rome.");
  const other = await appPage.anotherTab();
  await other.open();
  await other.answers.getByText("Rome.").waitFor();

  await appPage.composer.press("ArrowUp");
  const field = appPage.page.getByRole("textbox", { name: "Your message" });
  assert.equal(await field.inputValue(), "And in summer?");
  await field.press("Escape");
  await eventually(async () => assert.equal(await focused(appPage), "Edit message"));
  await appPage.questions.first().getByRole("button", { name: "Edit message" }).click();
  await field.fill("Where in autumn?");
  fixture.model.answer(say("Lyon."));
  await field.press("Enter");
  for (const tab of [appPage, other]) {
    await tab.answers.getByText("Lyon.", { exact: true }).waitFor();
    await eventually(async () => assert.equal(await tab.questions.count(), 1));
    await tab.questions.getByText("2 / 2", { exact: true }).waitFor();
  }

  await appPage.button("Previous version").click();
  for (const tab of [appPage, other]) {
    await tab.answers.getByText("Rome.", { exact: true }).waitFor();
    await tab.questions.first().getByText("1 / 2", { exact: true }).waitFor();
    assert.equal(await tab.questions.count(), 2);
  }
  await eventually(async () => assert.equal(await focused(appPage), "Next version"));
  await appPage.page.reload();
  await appPage.questions.first().getByText("1 / 2", { exact: true }).waitFor();
  await appPage.seesNo("Lyon.");

  // What stands on another branch is found all the same.
  await appPage.openChats();
  await appPage.page.getByRole("dialog").getByRole("searchbox").fill("lyon");
  await appPage.page.getByRole("button", { name: /Lyon\./u }).click();
  await appPage.answers.getByText("Lyon.", { exact: true }).waitFor();
  await appPage.questions.getByText("2 / 2", { exact: true }).waitFor();
});

for (const [name, look] of looks)
  test(`an edit is undone while its answer is being written, and can be had again, at ${name}`, async (t) => {
    const { appPage } = await fixture.openSignedInPage(t, look);
    await appPage.open();
    await talk(appPage, "Where in spring?", "Paris.");
    await talk(appPage, "And in summer?", "Rome.");
    fixture.model.answer(say("Let me think"), hold(never));
    await appPage.questions.first().getByRole("button", { name: "Edit message" }).click();
    const field = appPage.page.getByRole("textbox", { name: "Your message" });
    await field.fill("Where in autumn?");
    await appPage.button("Save and send").click();
    await appPage.answers.getByText("Let me think", { exact: true }).waitFor();
    await appPage.seesNo("Rome.");
    await holdToast(appPage);
    await inspect(appPage, "edit-undo", look);
    await appPage.toasts.filter({ hasText: "Message edited" }).getByRole("button", { name: "Undo" }).click();
    await appPage.answers.getByText("Rome.", { exact: true }).waitFor();
    assert.deepEqual(await appPage.questions.locator("p").allTextContents(), [
      "Where in spring?",
      "And in summer?",
    ]);
    await eventually(async () => assert.equal(await focused(appPage), "Next version"));
    await appPage.page.reload();
    await appPage.answers.getByText("Rome.", { exact: true }).waitFor();
    await appPage.button("Next version").click();
    await appPage.answers.getByText("Let me think", { exact: true }).waitFor();
    await appPage.answers.getByText("Stopped", { exact: true }).waitFor();
  });

test("an edit is undone from another chat, too", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await talk(appPage, "Where in spring?", "Paris.");
  fixture.model.answer(say("Let me think"), hold(never));
  await appPage.questions.first().getByRole("button", { name: "Edit message" }).click();
  await appPage.page.getByRole("textbox", { name: "Your message" }).fill("Where in autumn?");
  await appPage.button("Save and send").click();
  await appPage.answers.getByText("Let me think", { exact: true }).waitFor();
  await holdToast(appPage);
  await appPage.newChat.click();
  await appPage.answers.first().waitFor({ state: "detached" });
  await appPage.toasts.filter({ hasText: "Message edited" }).getByRole("button", { name: "Undo" }).click();
  const chats = await appPage.openChats();
  await chats.getByRole("button", { name: /^Where in spring\?/u }).click();
  await appPage.answers.getByText("Paris.", { exact: true }).waitFor();
  await appPage.seesNo("Let me think");
  assert.deepEqual(await appPage.questions.locator("p").allTextContents(), ["Where in spring?"]);
  await appPage.button("Next version").click();
  await appPage.answers.getByText("Stopped", { exact: true }).waitFor();
});

test("an answer that broke off goes on, and any answer is had again", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  fixture.model.answer(say("Once upon"), breakOff);
  await appPage.open();
  await appPage.ask("Tell me a story");
  const more = appPage.answers.getByRole("button", { name: "Continue" });
  await more.waitFor();
  fixture.model.answer(say("a time."));
  await more.click();
  await appPage.answers.getByText("a time.", { exact: true }).waitFor();
  await appPage.answered();
  assert.equal(await appPage.questions.count(), 1);
  await appPage.answers.getByText("Once upon", { exact: true }).waitFor();
  await talk(appPage, "Thank you", "Gladly.");

  fixture.model.answer(say("Far, far away"));
  await appPage.answers.nth(1).getByRole("button", { name: "Regenerate" }).click();
  await appPage.answers.getByText("Far, far away", { exact: true }).waitFor();
  await appPage.answered();
  await appPage.seesNo("Gladly.");
  await appPage.answers.getByText("2 / 2", { exact: true }).waitFor();
  await appPage.button("Previous version").click();
  await appPage.answers.getByText("Gladly.", { exact: true }).waitFor();
  await appPage.answers.getByText("Once upon", { exact: true }).waitFor();
});

test("the actions of earlier answers appear when one points at them or focuses them, those of the last stay", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.fill(await account.newChat(), ["One?", "One.", "Two?", "Two."]);
  await appPage.open();
  await appPage.answers.getByText("Two.", { exact: true }).waitFor();
  const copy = (answer: Locator) => answer.getByRole("button", { name: "Copy answer", exact: true });
  const isSeen = (button: Locator) =>
    button.evaluate((one) => one.checkVisibility({ opacityProperty: true }));
  const [earlier, last] = [appPage.answers.first(), appPage.answers.last()];
  await copy(earlier).waitFor();
  await appPage.composer.hover();
  assert.deepEqual([await isSeen(copy(earlier)), await isSeen(copy(last))], [false, true]);
  await earlier.hover();
  assert.ok(await isSeen(copy(earlier)), "one points at it");
  await appPage.composer.hover();
  assert.ok(!(await isSeen(copy(earlier))));
  await copy(earlier).focus();
  assert.ok(await isSeen(copy(earlier)), "the focus is in it");
});

test("one's own message is copied from its foot", async (t) => {
  const permissions = ["clipboard-read", "clipboard-write"];
  const { account, appPage } = await fixture.openSignedInPage(t, { permissions });
  await account.fill(await account.newChat(), ["Where is *the sea*?", "There."]);
  await appPage.open();
  await appPage.questions.getByRole("button", { name: "Copy message" }).click();
  await eventually(async () =>
    assert.equal(await appPage.page.evaluate(() => navigator.clipboard.readText()), "Where is *the sea*?"),
  );
});

/** Returns the list of queued messages. */
const waiting = (appPage: AppPage) => appPage.page.getByRole("region", { name: /^(Queued:|Paused\.)/u });

test("what is sent during an answer waits, is changed, removed and sent at once, and an error leaves it waiting", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  fixture.model.answer(say("One"), hold(never));
  await appPage.ask("one");
  await appPage.answers.getByText("One", { exact: true }).waitFor();
  for (const words of ["two", "away", "three"]) await appPage.ask(words);
  const list = waiting(appPage).getByRole("listitem");
  await list.nth(2).waitFor();
  assert.equal(await appPage.composer.inputValue(), "");
  await list.nth(1).getByRole("button", { name: "Remove queued message" }).click();
  await list.nth(2).waitFor({ state: "detached" });
  await list.nth(0).getByRole("button", { name: "Edit queued message" }).click();
  const field = appPage.page.getByRole("textbox", { name: "Queued message" });
  await field.fill("two, please");
  await field.press("Enter");
  await list.nth(0).getByText("two, please", { exact: true }).waitFor();
  await appPage.page.reload();
  await list.nth(1).getByText("three", { exact: true }).waitFor();

  fixture.model.answer(fail(400, "the model has a headache"));
  await list.nth(1).getByRole("button", { name: "Send now" }).click();
  await appPage.questions.getByText("three", { exact: true }).waitFor();
  await appPage.answers.getByText(/the model has a headache/u).waitFor();
  await appPage.answers.getByText("Stopped", { exact: true }).waitFor();
  assert.equal(await list.count(), 1, "an error leaves the rest waiting");
  await appPage.page.getByRole("region", { name: /^Paused\./u }).waitFor();

  fixture.model.answer(say("Three."));
  fixture.model.answer(say("Two."));
  await appPage.ask("once more");
  await appPage.answers.getByText("Three.", { exact: true }).waitFor();
  await appPage.questions.getByText("two, please", { exact: true }).waitFor();
  await appPage.answers.getByText("Two.", { exact: true }).waitFor();
  await waiting(appPage).waitFor({ state: "detached" });
  await appPage.answered();
});

test("queued messages are sent in the order in which they were written", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  const first = Promise.withResolvers<void>();
  fixture.model.answer(hold(first.promise), say("Answer 1."));
  for (const number of [2, 3, 4]) fixture.model.answer(say(`Answer ${number}.`));
  await appPage.ask("First");
  await appPage.stop.waitFor();
  const words = ["Second", "Third", "Fourth"];
  for (const [index, text] of words.entries()) {
    await appPage.ask(text);
    await waiting(appPage).getByRole("listitem").nth(index).waitFor();
  }
  first.resolve();
  await appPage.answers.getByText("Answer 4.", { exact: true }).waitFor();
  assert.deepEqual(await appPage.questions.locator("p").allTextContents(), ["First", ...words]);
  const last = fixture.model.requests.at(-1)?.messages.filter(({ role }) => role === "user");
  assert.deepEqual(
    last?.map(({ content }) => content),
    ["First", ...words],
  );
});

for (const [name, look] of looks) {
  test(`changing words and choosing among versions is free of accessibility faults at ${name}, and fits`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, look);
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
    await appPage.open();
    fixture.model.answer(say("It was booked."));
    await appPage.button("Check").click();
    await appPage.answers.getByText("It was booked.", { exact: true }).waitFor();
    await appPage.answered();
    fixture.model.answer(say("It was not booked. ".repeat(20)), breakOff);
    await appPage.button("Try again").click();
    await appPage.answers.getByRole("button", { name: "Continue" }).waitFor();
    await appPage.answers.getByText("2 / 2", { exact: true }).waitFor();
    await inspect(appPage, "versions", look);
    await appPage.questions.first().getByRole("button", { name: "Edit message" }).click();
    await appPage.page.getByRole("textbox", { name: "Your message" }).fill("Book a table for two\non Monday");
    await inspect(appPage, "edit-words", look);
    await appPage.button("Cancel").click();
    fixture.model.answer(say("One moment"), hold(never));
    await appPage.ask("Then book it");
    await appPage.answers.getByText("One moment", { exact: true }).waitFor();
    await appPage.ask("And tell me the number of the table, and what there is to eat, and when they close");
    await waiting(appPage).getByRole("listitem").waitFor();
    await appPage.composer.fill("One more thing");
    await inspect(appPage, "queue", look);
    await appPage.composer.fill("");
    await appPage.stop.click();
    await appPage.answered();
  });
}
