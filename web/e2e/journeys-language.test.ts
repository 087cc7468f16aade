import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test, type TestContext } from "node:test";
import type { Locator, Page } from "playwright-core";
import type { AppPage } from "./app-page.ts";
import { startFixture } from "./fixture.ts";
import { closeToasts, inspect, type Look, looks } from "./look.ts";
import { call, say } from "./scripted-model.ts";
import { settingsSections } from "../src/features/account/settings-sections.ts";
import { Settings } from "./settings.ts";

const fixture = await startFixture();
const [english, german] = await Promise.all(["en", "de"].map(readTexts));

async function readTexts(name: string): Promise<Record<string, string>> {
  const file = new URL(`../messages/${name}.json`, import.meta.url);
  return JSON.parse(await readFile(file, "utf8")) as Record<string, string>;
}

test("the language of the browser is that of the page, and the setting is stronger", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t, { locale: "de-AT" });
  await appPage.open();
  await appPage.button("Einstellungen").click();
  await appPage.page.getByRole("link", { name: "Darstellung" }).click();
  await language(appPage.page, "Sprache", "English").check();
  await appPage.page.getByRole("dialog", { name: "Settings", exact: true }).waitFor();
  assert.equal(await appPage.page.locator("html").getAttribute("lang"), "en");
  await language(appPage.page, "Language", "System").check();
  await appPage.page.getByRole("dialog", { name: "Einstellungen", exact: true }).waitFor();
  await appPage.page.reload();
  await appPage.page.getByRole("dialog", { name: "Einstellungen", exact: true }).waitFor();
});

for (const [name, look] of looks) {
  test(`everything is German after the language has been chosen, and fits at ${name}`, async (t) => {
    const appPage = await openWithChat(t, look);
    const settings = await Settings.open(appPage, "Appearance");
    const radio = language(appPage.page, "Language", "Deutsch");
    await radio.check();
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
      await isGerman(appPage, `settings-${section}`, look);
    }
    await appPage.page.keyboard.press("Escape");

    await appPage.page
      .getByRole("article", { name: "Antwort des Assistenten" })
      .getByText("Es ist 100")
      .waitFor();
    await isGerman(appPage, "chat", look);
    await appPage.button(/^Chats \(\d+\)$/u).click();
    await appPage.page.getByRole("dialog", { name: "Letzte Chats" }).getByRole("listitem").first().waitFor();
    await isGerman(appPage, "chats", look);
    await appPage.page.keyboard.press("Escape");
    await appPage.button("Neuer Chat").first().click();
    await appPage.sees("5 Tools von 1 Server sind bereit.");
    await isGerman(appPage, "empty", look);

    await appPage.page.getByRole("tab", { name: "MCP-Server", exact: true }).click();
    await appPage.sees("Aktive Verbindungen");
    await isGerman(appPage, "servers", look);
    await appPage.button("toolbox").click();
    await appPage.sheet.getByText("Zuletzt geprüft").waitFor();
    await isGerman(appPage, "connection", look);
    await appPage.page.keyboard.press("Escape");
    await appPage.page.getByRole("tab", { name: /^Tools \(\d+\)$/u }).click();
    await appPage.button("Tool verwenden").first().click();
    await appPage.sheet.getByRole("button", { name: "Ausführen" }).waitFor();
    await isGerman(appPage, "tool", look);
    await appPage.page.keyboard.press("Escape");
    await isGerman(appPage, "tools", look);

    await appPage.open("/nowhere");
    await appPage.sees("Seite nicht gefunden");
    await isGerman(appPage, "not-found", look);
    await appPage.open("/");
    const account = appPage.button("Konto");
    await account.or(appPage.button("Abmelden")).first().waitFor();
    // On a phone the button is in the account's menu.
    if (await account.isVisible()) await account.click();
    await appPage.button("Abmelden").click();
    await appPage.arrivesAt("/auth");
    await appPage.page.getByRole("tab", { name: "Registrieren" }).click();
    await isGerman(appPage, "auth", look);
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

/** Checks that a screen fits, and that none of its texts and names is an English one. */
async function isGerman(appPage: AppPage, screen: string, look: Look): Promise<void> {
  const texts = await shownTexts(appPage.page);
  const left = texts.filter((text) => leftovers.some((pattern) => pattern.test(text)));
  assert.deepEqual(left, [], `English on ${screen}`);
  await inspect(appPage, `german-${screen}`, look);
}

/** The English texts that are not also German ones; their parameters stand for anything. */
const leftovers = Object.entries(english ?? {})
  .filter(([key, text]) => german?.[key] !== text && !Object.values(german ?? {}).includes(text))
  .filter(([, text]) => !/[<,]\s*(?:plural|[a-z]+>)/u.test(text))
  .map(
    ([, text]) =>
      new RegExp(
        `^${text
          .split(/\{[^}]*\}/u)
          .map(escaped)
          .join(".+")}$`,
        "u",
      ),
  )
  // A text that is little more than its parameters is like any other.
  .filter(({ source }) => /\p{L}{3}/u.test(source));

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/gu, String.raw`\$&`);
}

/** The texts that can be seen, and the names and hints of controls. */
function shownTexts(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const attributes = ["aria-label", "title", "placeholder", "alt"];
    const texts: string[] = [];
    for (const element of document.body.querySelectorAll("*")) {
      if (!element.checkVisibility()) continue;
      for (const attribute of attributes) texts.push(element.getAttribute(attribute) ?? "");
      for (const node of element.childNodes)
        if (node.nodeType === Node.TEXT_NODE) texts.push(node.nodeValue ?? "");
    }
    return texts.map((text) => text.trim()).filter((text) => text !== "");
  });
}
