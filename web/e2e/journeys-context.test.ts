import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { startApp } from "./app.ts";
import { inspect, looks } from "./look.ts";
import { startFixture } from "./fixture.ts";

const fixture = await startFixture();
fixture.model.names = ["scripted", "small"];
const folder = await mkdtemp(join(tmpdir(), "catalogue-"));
test.after(() => rm(folder, { recursive: true }));
const catalogue = join(folder, "models.json");
// Each answer of the scripted model uses 130 tokens.
const models = [
  { name: "scripted", context: 200 },
  { name: "small", context: 150 },
];
await writeFile(
  catalogue,
  JSON.stringify({ date: "2026-11-20", providers: [{ hosts: ["127.0.0.1"], models }] }),
);
const app = await startApp({
  env: { OPENAI_BASE_URL: fixture.model.baseUrl, CHAT_MODEL_CATALOGUE: catalogue },
});
test.after(() => app.stop());

for (const [name, look] of looks) {
  test(`a ring tells how much of the model's context a chat uses, and warns near the end, at ${name}`, async (t) => {
    const { appPage } = await fixture.openSignedInPage(t, { origin: app.url, ...look });
    const { page } = appPage;
    await appPage.open();
    await appPage.button("Model: scripted").waitFor();
    await appPage.ask("Hello");
    await appPage.answered();
    await appPage.button("About 65% of the context used").click();
    await page.getByRole("dialog", { name: "Context" }).getByText("130 of the 200 tokens").waitFor();
    await inspect(appPage, "context", look);
    await page.keyboard.press("Escape");

    await appPage.button("Model: scripted").click();
    await page
      .getByRole("gridcell", { name: /^small/u })
      .first()
      .click();
    await appPage.button("About 87% of the context used").click();
    await page.getByRole("dialog", { name: "Context" }).getByText("start a new chat").waitFor();
    await inspect(appPage, "context-end", look);
    await page.keyboard.press("Escape");

    await appPage.button("More for this chat").click();
    const menu = page.getByRole("dialog", { name: "More for this chat" });
    await menu.getByText("About 87% of the context used").waitFor();
    await inspect(appPage, "context-menu", look);
    assert.equal(await menu.getByRole("button", { name: "Share" }).count(), 1);
  });
}
