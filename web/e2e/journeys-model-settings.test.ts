import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect, looks } from "./look.ts";
import { say } from "./scripted-model.ts";
import { Settings } from "./settings.ts";
import { startFixture } from "./fixture.ts";

const fixture = await startFixture();
fixture.model.names = ["scripted", "thinker"];

interface Asked {
  model: string;
  temperature?: number;
  reasoning_effort?: string;
  messages: { content: string }[];
}

const asked = () => fixture.model.requests.at(-1) as unknown as Asked;

for (const [name, look] of looks) {
  test(`a chat has its own instructions and parameters, and all chats have theirs, at ${name}`, async (t) => {
    const { appPage } = await fixture.openSignedInPage(t, look);
    const { page } = appPage;
    await appPage.open();
    const settings = await Settings.open(appPage, "Models");
    const section = settings.section("Models");
    await section.getByLabel("Default model").selectOption("openai: thinker");
    await section.getByRole("button", { name: "Change Instructions and parameters" }).click();
    await section.getByLabel("Instructions", { exact: true }).fill("Be brief.");
    await section.getByLabel("Temperature").fill("0.5");
    await section.getByRole("button", { name: "Save" }).click();
    await appPage.toast("Settings saved", "Settings saved");
    await inspect(appPage, "model-defaults", look);
    await settings.button("Close").first().click();

    await appPage.button("Model: thinker").click();
    const picker = page.getByRole("dialog", { name: "About the model" });
    await picker.getByText("Instructions and parameters").click();
    const temperature = picker.getByLabel("Temperature");
    await temperature.waitFor();
    assert.equal(await temperature.getAttribute("placeholder"), "0.5", "what holds for all is shown");
    await temperature.fill("1.25");
    await picker.getByLabel("Reasoning effort").selectOption("High");
    await picker.getByRole("button", { name: "Save" }).click();
    await appPage.toast("Settings saved", "Settings saved");
    await inspect(appPage, "chat-settings", look);
    await page.keyboard.press("Escape");
    fixture.model.answer(say("Briefly."));
    await appPage.ask("Who are you?");
    await appPage.answers.getByText("Briefly.").waitFor();
    const { model, temperature: told, reasoning_effort, messages } = asked();
    assert.deepEqual([model, told, reasoning_effort], ["thinker", 1.25, "high"]);
    assert.match(messages[0]?.content ?? "", /Be brief\.$/u);

    await page.reload();
    await appPage.button("Model: thinker").click();
    await picker.getByText("Instructions and parameters").click();
    await picker.getByRole("button", { name: "Reset" }).click();
    await picker.getByRole("button", { name: "Reset", disabled: true }).waitFor();
    await page.keyboard.press("Escape");
    await appPage.ask("And now?");
    await appPage.answered();
    assert.equal(asked().temperature, 0.5);
  });
}
