import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { settingsSections } from "../src/features/account/settings-sections.ts";
import { type AppPage, eventually } from "./app-page.ts";
import { startFixture } from "./fixture.ts";
import { focusedName, inspect, type Look, looks } from "./look.ts";
import { Settings } from "./settings.ts";

const fixture = await startFixture();

function openedSection({ page }: AppPage): string | null {
  return new URL(page.url()).searchParams.get("settings");
}

async function openHome(t: TestContext, look?: Look): Promise<AppPage> {
  const { appPage } = await fixture.openSignedInPage(t, look && { ...look });
  await appPage.open();
  await appPage.composer.waitFor();
  return appPage;
}

test("each section is a step of the history, and closing the settings undoes them all", async (t) => {
  const appPage = await openHome(t);
  await appPage.openTab("Tools");
  const settings = await Settings.open(appPage, "Security");
  await settings.change("Password");
  await settings.goTo("Usage");
  assert.equal(openedSection(appPage), "usage");
  await appPage.page.goBack();
  await settings.heading("Security").waitFor();
  assert.ok(await settings.field("Current password").isVisible(), "its form is open again");
  await appPage.page.goForward();
  await settings.heading("Usage").waitFor();
  await eventually(async () => assert.equal(await focusedName(appPage), "Usage"));
  await settings.button("Close").click();
  await settings.panel.waitFor({ state: "detached" });
  await eventually(() => assert.equal(openedSection(appPage), null));
  assert.equal(await focusedName(appPage), "Settings");
  await appPage.page.goBack();
  await eventually(async () => assert.equal(await appPage.tab("Chat").getAttribute("aria-selected"), "true"));
  assert.equal(await settings.panel.count(), 0);
});

test("a link to a section opens it, and closing it leaves no parameter", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open("/?settings=api-keys&form=api-key");
  const settings = new Settings(appPage);
  await settings.field("Key name").waitFor();
  assert.equal(await settings.link("API keys").getAttribute("aria-current"), "page");
  await settings.goTo("Data");
  assert.equal(new URL(appPage.page.url()).search, "?settings=data");
  await appPage.page.reload();
  await settings.heading("Data").waitFor();
  await appPage.page.keyboard.press("Escape");
  await settings.panel.waitFor({ state: "detached" });
  // Going back in the history takes a moment longer than closing the panel.
  await appPage.page.waitForURL(({ search }) => search === "");
});

test("on a phone the sections are a list, and each leads back to it", async (t) => {
  const [, look] = looks[0] ?? assert.fail();
  const appPage = await openHome(t, look);
  const settings = await Settings.open(appPage);
  assert.equal(await settings.link("Account").count(), 1);
  assert.equal(await settings.heading("Account").count(), 0, "no section beside the list");
  await inspect(appPage, "settings-list", look);
  await settings.link("Models").click();
  await settings.heading("Models").waitFor();
  assert.equal(await settings.link("Models").count(), 0, "no list beside the section");
  await eventually(async () => assert.equal(await focusedName(appPage), "Models"));
  await settings.button("All settings").click();
  await eventually(async () => assert.equal(await focusedName(appPage), "Models"));
  assert.ok(await settings.link("Models").isVisible());
  await appPage.page.goBack();
  await settings.panel.waitFor({ state: "detached" });

  await appPage.open("/?settings=usage");
  await settings.button("All settings").click();
  await settings.link("Usage").waitFor();
  await settings.button("Close").click();
  await settings.panel.waitFor({ state: "detached" });
});

test("the palette opens each section", async (t) => {
  const appPage = await openHome(t);
  const settings = new Settings(appPage);
  for (const section of ["Appearance", "Tools and permissions"] as const) {
    await appPage.page.keyboard.press("Control+k");
    const palette = appPage.page.getByRole("dialog", { name: "Command palette" });
    await palette.getByRole("combobox").fill(section);
    await palette.getByRole("option", { name: `Open settings: ${section}`, exact: true }).click();
    await settings.heading(section).waitFor();
    await eventually(async () => assert.equal(await focusedName(appPage), section));
    await appPage.page.keyboard.press("Escape");
    await settings.panel.waitFor({ state: "detached" });
  }
});

for (const [name, look] of looks) {
  test(`every section of the settings is free of accessibility faults at ${name}, and fits`, async (t) => {
    const { appPage } = await fixture.openSignedInPage(t, { ...look });
    for (const section of settingsSections) {
      await appPage.open(`/?settings=${section}`);
      await appPage.sheet.getByRole("heading", { level: 2 }).last().waitFor();
      await inspect(appPage, `section-${section}`, look);
    }
  });
}
