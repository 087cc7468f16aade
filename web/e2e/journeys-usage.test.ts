import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { startApp } from "./app.ts";
import { closeToasts, inspect, looks } from "./look.ts";
import { say } from "./scripted-model.ts";
import { Settings } from "./settings.ts";
import { startFixture } from "./fixture.ts";
import { eventually } from "./app-page.ts";

const fixture = await startFixture();
fixture.model.names = ["scripted", "thinker"];
const folder = await mkdtemp(join(tmpdir(), "catalogue-"));
test.after(() => rm(folder, { recursive: true }));
const catalogue = join(folder, "models.json");
const facts = {
  name: "scripted",
  context: 200_000,
  tools: true,
  images: true,
  reasoning: false,
  price: { input: 2.5, output: 10 },
};
const providers = [{ hosts: ["127.0.0.1"], models: [facts] }];
await writeFile(catalogue, JSON.stringify({ date: "2026-11-20", providers }));
const app = await startApp({
  env: {
    OPENAI_BASE_URL: fixture.model.baseUrl,
    CHAT_MODEL_CATALOGUE: catalogue,
    CHAT_TOKENS_PER_DAY: "200",
  },
});
test.after(() => app.stop());

for (const [name, look] of looks) {
  test(`what models can do and cost is told before and after they are asked, and where it ends for today, at ${name}`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, { origin: app.url, ...look });
    const { page } = appPage;
    await appPage.open();
    await appPage.button("Model: scripted").click();
    const picker = page.getByRole("dialog", { name: "About the model" });
    await picker
      .getByRole("gridcell", {
        name: /^scripted 200k tokens of context Calls tools Reads images \$2\.5 \/ \$10/u,
      })
      .waitFor();
    await inspect(appPage, "model-facts", look);
    await page.keyboard.press("Escape");

    for (const answer of ["One.", "Two."]) {
      fixture.model.answer(say(answer));
      await appPage.ask("Count.");
      await appPage.answers.getByText(answer).waitFor();
      await appPage.answered();
    }
    await eventually(async () => {
      const { quotas } = await account.call<{ quotas: { used: number }[] }>("/api/quotas");
      assert.equal(quotas[0]?.used, 260);
    });
    await appPage.ask("And on?");
    await page
      .getByText(/reset at midnight \(UTC\)/u)
      .first()
      .waitFor();
    await inspect(appPage, "spent-for-today", look);

    const settings = await Settings.open(appPage, "Usage");
    const usage = settings.section("Usage");
    await usage
      .getByRole("table", { name: "By model" })
      .getByRole("row", { name: /openai\/scripted/u })
      .waitFor();
    const chart = usage.getByRole("slider", { name: "Tokens per day and model over 30 days" });
    await chart.waitFor();
    assert.match(
      (await chart.getAttribute("aria-valuetext")) ?? "",
      /: 260 tokens; openai\/scripted: 260 tokens$/u,
    );
    await usage.getByText(/^You.ve used/u).waitFor();
    await usage.getByText("Your files take up 0 kB of 1.1 GB.").waitFor();
    await usage.getByText("You have 0 of 200 server connections.").waitFor();
    await usage.getByLabel("Period").selectOption("Last 7 days");
    await usage.getByRole("slider", { name: "Tokens per day and model over 7 days" }).focus();
    await inspect(appPage, "usage", look);
    await usage.getByRole("radio", { name: "Cost" }).click();
    await usage.getByRole("slider", { name: "Cost per day and model over 7 days" }).waitFor();
    await usage.getByRole("radio", { name: "Table" }).click();
    await usage
      .getByRole("table", { name: "By day and model" })
      .getByRole("row", { name: /openai\/scripted (?:≈ )?260/u })
      .waitFor();
    assert.equal(await usage.getByRole("slider").count(), 0);
    await inspect(appPage, "usage-table", look);
    const saved = page.waitForEvent("download");
    await usage.getByRole("button", { name: "Download CSV" }).click();
    const csv = await readFile(await (await saved).path(), "utf8");
    assert.match(csv, /^day,model,inputTokens/u);
    assert.match(csv, /,openai\/scripted,/u);
  });
}

test("who has nearly as many connections as allowed is warned", async (t) => {
  const limited = await startApp({
    env: { OPENAI_BASE_URL: fixture.model.baseUrl, CHAT_MAX_SAVED_CONNECTIONS_PER_USER: "5" },
  });
  t.after(() => limited.stop());
  const { account, appPage } = await fixture.openSignedInPage(t, { origin: limited.url });
  for (const name of ["a", "b", "c"]) await account.connect(name, `${limited.url}/mcp/toolbox`);
  await appPage.open("/?tab=servers");
  await appPage.connect("d", `${limited.url}/mcp/toolbox`);
  const warning = "You have 4 of 5 server connections. Remove one you no longer need.";
  await appPage.toast("Quota almost used up", warning);
});

test("who has used most of a quota is warned once", async (t) => {
  const limited = await startApp({
    env: { OPENAI_BASE_URL: fixture.model.baseUrl, CHAT_TOKENS_PER_DAY: "300" },
  });
  t.after(() => limited.stop());
  const { account, appPage } = await fixture.openSignedInPage(t, { origin: limited.url });
  await appPage.open();
  const ask = async (answer: string) => {
    fixture.model.answer(say(answer));
    await appPage.ask("Count.");
    await appPage.answers.getByText(answer).waitFor();
    await appPage.answered();
  };
  await ask("One.");
  await ask("Two.");
  const warning = "You've used 260 of 300 tokens today. Your quota is renewed at midnight UTC.";
  await appPage.toast("Quota almost used up", warning);
  await closeToasts(appPage);
  await limited.command("admin", "quota", account.email, "--tokens-per-day", "450");
  await ask("Three.");
  assert.equal(await appPage.page.getByText("Quota almost used up").count(), 0);
});
