import assert from "node:assert/strict";
import { test } from "node:test";
import { startApp } from "./app.ts";
import { closeToasts, inspect, looks } from "./look.ts";
import { say, ScriptedModel } from "./scripted-model.ts";
import { Settings } from "./settings.ts";
import { startFixture } from "./fixture.ts";

const fixture = await startFixture();
const app = await startApp({ env: { CHAT_LOCAL_MODEL: "off" } });
test.after(() => app.stop());
const own = await ScriptedModel.start();
test.after(() => own.stop());
own.names = ["mine-small", "mine-large"];

for (const [name, look] of looks) {
  test(`a person adds a provider with a key of their own, asks it, changes it and removes it at ${name}`, async (t) => {
    const { appPage } = await fixture.openSignedInPage(t, { origin: app.url, ...look });
    const { page } = appPage;
    await appPage.open();
    const settings = await Settings.open(appPage);
    await settings.change("Model provider");
    await settings.field("Type").selectOption("OpenAI-compatible server");
    await settings.field("Provider name").fill("Workshop");
    await settings.field("Base URL").fill(own.baseUrl);
    await settings.field("API key").fill("sk-of-my-own-4711");
    await inspect(appPage, "provider-form", look);
    await settings.section("Providers").locator("form").getByRole("button", { name: "Add" }).click();
    const row = settings.row("Workshop");
    await row.getByText("Connected. 2 models available.").waitFor();
    await row.getByText("Key …4711").waitFor();
    await row.scrollIntoViewIfNeeded();
    await inspect(appPage, "providers", look);
    await settings.button("Close").first().click();

    await appPage.button("Model: mine-small").click();
    const picker = page.getByRole("dialog", { name: "About the model" });
    await picker.getByRole("rowgroup", { name: "Workshop" }).waitFor();
    await picker.getByRole("gridcell", { name: "mine-large", exact: true }).click();
    own.answer(say("From your own."));
    await appPage.ask("Whose are you?");
    await appPage.answers.getByText("From your own.").waitFor();
    assert.equal(own.requests.at(-1)?.model, "mine-large");

    await Settings.open(appPage, "Providers");
    await settings.button("Edit Workshop").click();
    await settings.field("Base URL").fill("http://127.0.0.1:9/v1");
    await settings.button("Save").click();
    await row.getByText(/the key was entered for another server/u).waitFor();
    await settings.field("API key").fill("sk-for-the-other");
    await settings.button("Save").click();
    await row.getByText(/could not reach the model server/iu).waitFor();
    await inspect(appPage, "provider-away", look);
    await settings.button("Remove Workshop").click();
    await settings.confirm(/^Remove Workshop/u, "Remove provider");
    await row.waitFor({ state: "detached" });
    await closeToasts(appPage);
    await settings.button("Close").first().click();
    await page.getByText(/No model can answer: mine-large is no longer available/u).waitFor();
  });
}
