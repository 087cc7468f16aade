import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect, looks } from "./look.ts";
import { say } from "./scripted-model.ts";
import { Settings } from "./settings.ts";
import { startFixture } from "./fixture.ts";

const fixture = await startFixture();

for (const [name, look] of looks) {
  test(`the model proposes the title of a chat where its user wants that, at ${name}`, async (t) => {
    const { appPage, account } = await fixture.openSignedInPage(t, look);
    const { page } = appPage;
    await appPage.open();
    const settings = await Settings.open(appPage, "Models");
    const titles = settings.panel.getByRole("radiogroup", { name: "Chat titles" });
    assert.ok(await titles.getByLabel("First words").isChecked(), "it is off by default");
    await titles.getByText("By the model").click();
    await appPage.toast("Settings saved", "Settings saved");
    assert.ok(await titles.getByLabel("By the model").isChecked());
    await inspect(appPage, "titles-setting", look);
    await settings.button("Close").first().click();

    fixture.model.answer(say("Alfama, Belém and Sintra."));
    fixture.model.answer(say('"A weekend in Lisbon"'));
    await appPage.ask("What should I see on a long weekend in Lisbon?");
    await appPage.answers.getByText("Alfama, Belém and Sintra.").waitFor();
    await page.getByRole("region", { name: "A weekend in Lisbon", exact: true }).waitFor();
    await inspect(appPage, "titles-chat", look);
    const rows = await account.call<{ title: string }[]>("/rest/v1/ai_chat_sessions?select=title");
    assert.deepEqual(rows, [{ title: "A weekend in Lisbon" }]);

    await page.reload();
    await page.getByRole("region", { name: "A weekend in Lisbon", exact: true }).waitFor();
  });
}
