import assert from "node:assert/strict";
import { test } from "node:test";
import { startApp } from "./app.ts";
import { inspect, looks } from "./look.ts";
import { say } from "./scripted-model.ts";
import { startFixture } from "./fixture.ts";
import { eventually } from "./app-page.ts";

const fixture = await startFixture();
const long = "house/model-of-many-words-235b-a22b-instruct-preview-2026";
fixture.model.names = ["scripted", "gpt-small", "gpt-large", "gpt-huge", "mini", "coder", long];
const app = await startApp({
  env: {
    OPENAI_BASE_URL: fixture.model.baseUrl,
    ANTHROPIC_BASE_URL: fixture.model.origin,
    ANTHROPIC_API_KEY: "sk",
  },
});
test.after(() => app.stop());

/** The name of the model in the newest request. */
const asked = () => fixture.model.requests.at(-1)?.model;

for (const [name, look] of looks) {
  test(`a chat's model is found, kept at hand and chosen at ${name}`, async (t) => {
    const { appPage } = await fixture.openSignedInPage(t, { origin: app.url, ...look });
    await appPage.open();
    await appPage.button("Model: scripted").click();
    const picker = appPage.page.getByRole("dialog", { name: "About the model" });
    await picker.getByRole("rowgroup", { name: "anthropic" }).waitFor();
    await inspect(appPage, "models", look);
    await picker.getByRole("combobox", { name: "Search models" }).fill("openai large");
    await picker.getByRole("gridcell", { name: "Add gpt-large to favorites" }).click();
    await picker.getByRole("rowgroup", { name: "Favorites" }).waitFor();
    await inspect(appPage, "models-at-hand", look);
    // What fits best is chosen by Enter.
    await picker.getByRole("combobox").fill("large");
    await appPage.page.keyboard.press("Enter");
    await appPage.button("Model: gpt-large").waitFor();
    fixture.model.answer(say("From the large one."));
    await appPage.ask("Who are you?");
    await appPage.answers.getByText("From the large one.").waitFor();
    assert.equal(asked(), "gpt-large");
    await appPage.page.reload();
    await appPage.button("Model: gpt-large").waitFor();

    await appPage.newChat.click();
    await appPage.button("Model: scripted").click();
    await picker.getByRole("rowgroup", { name: "Favorites" }).getByText("gpt-large").waitFor();
    await appPage.page.keyboard.press("Escape");
    await appPage.ask("And you?");
    await appPage.answered();
    assert.equal(asked(), "scripted", "the choice is the chat's");
  });
}

test("another tab hears which model was chosen", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t, { origin: app.url });
  await appPage.open();
  await appPage.button("Model: scripted").waitFor();
  const tab = await appPage.anotherTab();
  await tab.open();
  await tab.button("Model: scripted").click();
  await tab.page.getByRole("gridcell", { name: "mini" }).first().click();
  await appPage.button("Model: mini").waitFor();
  await eventually(async () => assert.equal(await tab.button("Model: mini").count(), 1));
});

test("a model's long name is read whole in the picker, and leaves the composer its buttons", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t, {
    origin: app.url,
    viewport: { width: 320, height: 640 },
  });
  await appPage.open();
  await appPage.button("Model: scripted").click();
  const choice = appPage.page.getByRole("gridcell", { name: long, exact: true }).first();
  await choice.waitFor();
  assert.ok(await choice.evaluate((button) => button.scrollWidth <= button.clientWidth));
  await choice.click();
  await appPage.button(`Model: ${long}`).waitFor();
  const box = await appPage.send.boundingBox();
  assert.equal(box?.width, box?.height);
});

for (const [name, look] of looks) {
  test(`the last answer is written again by another model, and each version names its writer at ${name}`, async (t) => {
    const { appPage } = await fixture.openSignedInPage(t, { origin: app.url, ...look });
    await appPage.open();
    await appPage.button("Model: scripted").waitFor();
    fixture.model.answer(say("From the first one."));
    await appPage.ask("Who are you?");
    await appPage.answered();
    const answer = appPage.answers.last();
    await answer.getByRole("button", { name: "Regenerate with…" }).click();
    const menu = appPage.page.getByRole("dialog", { name: "Regenerate with…" });
    await menu.getByRole("combobox", { name: "Search models" }).fill("mini");
    await inspect(appPage, "regenerate-with", look);
    fixture.model.answer(say("From the small one."));
    await menu.getByRole("gridcell", { name: "mini", exact: true }).first().click();
    await answer.getByText("From the small one.", { exact: true }).waitFor();
    await appPage.answered();
    assert.equal(asked(), "mini");
    await answer.getByText("2 / 2", { exact: true }).waitFor();
    await answer.getByText("Written by mini").waitFor();
    await appPage.button("Model: scripted").waitFor();
    await inspect(appPage, "answer-writer", look);

    await answer.getByRole("button", { name: "Previous version" }).click();
    await answer.getByText("From the first one.", { exact: true }).waitFor();
    assert.equal(await answer.getByText("Written by").count(), 0, "the chat's own model is not named");
  });
}
