import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Locator, Page } from "playwright-core";
import type { AppPage } from "./app-page.ts";
import { startFixture } from "./fixture.ts";
import { inspectGerman } from "./german.ts";
import { closeToasts, type Look, looks } from "./look.ts";
import { call, say } from "./scripted-model.ts";
import { settingsSections } from "../src/features/account/settings-sections.ts";
import { Settings } from "./settings.ts";

const fixture = await startFixture();

test("the language of the browser is that of the page, and the setting is stronger", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t, { locale: "de-AT" });
  await appPage.open();
  await appPage.button("Einstellungen").click();
  await appPage.page.getByRole("link", { name: "Darstellung" }).click();
  await language(appPage.page, "Sprache", "English").click();
  await appPage.page.getByRole("dialog", { name: "Settings", exact: true }).waitFor();
  assert.equal(await appPage.page.locator("html").getAttribute("lang"), "en");
  await language(appPage.page, "Language", "System").click();
  await appPage.page.getByRole("dialog", { name: "Einstellungen", exact: true }).waitFor();
  await appPage.page.reload();
  await appPage.page.getByRole("dialog", { name: "Einstellungen", exact: true }).waitFor();
});

for (const [name, look] of looks) {
  test(`everything is German after the language has been chosen, and fits at ${name}`, async (t) => {
    const appPage = await openWithChat(t, look);
    const settings = await Settings.open(appPage, "Appearance");
    const radio = language(appPage.page, "Language", "Deutsch");
    await radio.click();
    await appPage.page.getByRole("dialog", { name: "Einstellungen", exact: true }).waitFor();
    assert.ok(await radioHasFocus(appPage.page), "the choice keeps the focus");
    await settings.panel.waitFor({ state: "detached" });

    await appPage.page.reload();
    const sheet = appPage.page.getByRole("dialog", { name: "Einstellungen", exact: true });
    await sheet.getByRole("heading", { name: "Darstellung" }).waitFor();
    assert.equal(await appPage.page.locator("html").getAttribute("lang"), "de");
    for (const section of settingsSections) {
      await appPage.open(`/?settings=${section}`);
      await sheet.getByRole("heading", { level: 2 }).last().waitFor();
      await inspectGerman(appPage, `settings-${section}`, look);
    }
    await appPage.page.keyboard.press("Escape");

    await appPage.page
      .getByRole("article", { name: "Antwort des Assistenten" })
      .getByText("Es ist 100")
      .waitFor();
    await inspectGerman(appPage, "chat", look);
    await appPage.button(/^Chats \(\d+\)$/u).click();
    await appPage.page.getByRole("dialog", { name: "Letzte Chats" }).getByRole("listitem").first().waitFor();
    await inspectGerman(appPage, "chats", look);
    await appPage.page.keyboard.press("Escape");
    await appPage.button("Neuer Chat").first().click();
    await appPage.sees("5 Tools von 1 Server sind bereit.");
    await inspectGerman(appPage, "empty", look);

    await appPage.page.getByRole("tab", { name: "MCP-Server", exact: true }).click();
    await appPage.sees("Aktive Verbindungen");
    await inspectGerman(appPage, "servers", look);
    await appPage.button("toolbox").click();
    await appPage.sheet.getByText("Zuletzt geprüft").waitFor();
    await inspectGerman(appPage, "connection", look);
    await appPage.page.keyboard.press("Escape");
    await appPage.page.getByRole("tab", { name: /^Tools \(\d+\)$/u }).click();
    await appPage.button("Tool verwenden").first().click();
    await appPage.sheet.getByRole("button", { name: "Ausführen" }).waitFor();
    await inspectGerman(appPage, "tool", look);
    await appPage.page.keyboard.press("Escape");
    await inspectGerman(appPage, "tools", look);

    await appPage.open("/nowhere");
    await appPage.sees("Seite nicht gefunden");
    await inspectGerman(appPage, "not-found", look);
    await appPage.open("/");
    const account = appPage.button("Konto");
    await account.or(appPage.button("Abmelden")).first().waitFor();
    // On a phone the button is in the account's menu.
    if (await account.isVisible()) await account.click();
    await appPage.button("Abmelden").click();
    await appPage.arrivesAt("/auth");
    await appPage.page.getByRole("tab", { name: "Registrieren" }).click();
    await inspectGerman(appPage, "auth", look);
  });
}

/** Opens a page, in English, whose user has connected the toolbox and asked something. */
async function openWithChat(t: TestContext, look: Look): Promise<AppPage> {
  const { appPage } = await fixture.openSignedInPage(t, { ...look });
  await appPage.open();
  await appPage.openTab("MCP Servers");
  await appPage.connect("toolbox", `${fixture.app.url}/mcp/toolbox`);
  await closeToasts(appPage);
  await appPage.openTab("Chat");
  fixture.model.answer(call("calculate", { expression: "12.5 * 8" }));
  fixture.model.answer(say("Es ist 100."));
  await appPage.ask("12,5 mal 8");
  await appPage.answered();
  return appPage;
}

function language(page: Page, section: string, label: string): Locator {
  return page.getByRole("radiogroup", { name: section, exact: true }).getByLabel(label, { exact: true });
}

function radioHasFocus(page: Page): Promise<boolean> {
  return page.evaluate(() => document.activeElement?.matches("input[name=language]:checked") === true);
}
