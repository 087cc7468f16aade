import assert from "node:assert/strict";
import { test } from "node:test";
import { focusedName, inspect, looks } from "./look.ts";
import { attached, option as promptOption } from "./mcp-context.ts";
import { serveTools } from "./scripted-mcp.ts";
import { say } from "./scripted-model.ts";
import { startFixture } from "./fixture.ts";
import { eventually, type AppPage } from "./app-page.ts";

const fixture = await startFixture();
// Before the first page: the server keeps the list of a provider for ten minutes.
fixture.model.names = ["scripted", "gpt-large"];
const palette = ({ page }: AppPage) => page.getByRole("dialog", { name: "Command palette" });
const option = (appPage: AppPage, name: string | RegExp) =>
  palette(appPage).getByRole("option", { name, exact: true });
const chat = ({ page }: AppPage, title: string) => page.getByRole("region", { name: title, exact: true });

/** A closed dialog is hidden a moment before it is gone; a shortcut in between would open nothing. */
const paletteIsGone = ({ page }: AppPage) =>
  page.locator('dialog[aria-label="Command palette"]').waitFor({ state: "detached" });

async function find(appPage: AppPage, text: string): Promise<void> {
  await appPage.page.keyboard.press("Control+k");
  await palette(appPage).waitFor();
  await appPage.page.keyboard.type(text);
}

test("the palette opens chats and messages from every tab, by keyboard", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.fill(await account.newChat("Umbrellas"), ["Where is it dry?", "In the desert of Atacama."]);
  await account.newChat("Latest");
  await appPage.open("/?tab=tools");
  await appPage.tab("Tools").waitFor();
  await find(appPage, "umb");
  await option(appPage, "Umbrellas").and(appPage.page.locator("[data-highlighted]")).waitFor();
  await appPage.page.keyboard.press("Enter");
  await chat(appPage, "Umbrellas").waitFor();
  await palette(appPage).waitFor({ state: "detached" });
  await find(appPage, "new chat");
  await option(appPage, /^New chat/u).waitFor();
  await appPage.page.keyboard.press("Enter");
  await appPage.button("Chats (3)").waitFor();
  await find(appPage, "atacama");
  await option(appPage, /Atacama/u).waitFor();
  await appPage.page.keyboard.press("Enter");
  await appPage.page.locator("[data-found]").waitFor();
});

test("the palette opens tools, chooses models, and runs actions", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connect("my-tools", `${fixture.app.url}/mcp/toolbox`);
  await account.newChat("Latest");
  await appPage.open();
  await chat(appPage, "Latest").waitFor();
  await find(appPage, "calcul");
  await option(appPage, /^calculate/u).click();
  await appPage.sheet.getByLabel("expression").waitFor();
  await appPage.page.keyboard.press("Escape");
  await find(appPage, "dark");
  await option(appPage, "Theme: Dark").click();
  assert.equal(await appPage.page.evaluate(() => document.documentElement.dataset["theme"]), "dark");
  await find(appPage, "temporary");
  await option(appPage, "New temporary chat").click();
  await chat(appPage, "Temporary chat").waitFor();
  await find(appPage, "settings");
  await option(appPage, "Open settings").click();
  await appPage.page.getByRole("dialog", { name: "Settings" }).waitFor();
  await appPage.page.keyboard.press("Escape");
  // No shortcut works below a dialog.
  await appPage.sheet.waitFor({ state: "detached" });
  await find(appPage, "nothing like that");
  await appPage.sees("No results for “nothing like that”.");
  await appPage.page.keyboard.press("Control+k");
  await paletteIsGone(appPage);
  await find(appPage, "sign out");
  await option(appPage, "Sign out").click();
  await appPage.arrivesAt("/auth");
});

test("the palette chooses the model of the chat, and attaches a server's prompt", async (t) => {
  const server = await serveTools([{ name: "plain" }], { modern: true, prompts: 1 });
  t.after(() => server.stop());
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connect("theirs", server.url);
  await account.newChat("Latest");
  await appPage.open();
  await appPage.button("Model: scripted").waitFor();
  await find(appPage, "large");
  await option(appPage, /gpt-large/u).click();
  await appPage.button("Model: gpt-large").waitFor();
  await find(appPage, "prompt-0");
  await option(appPage, /^prompt-0/u).click();
  await promptOption(appPage, "Prompts", /^\/prompt-0/u).waitFor();
  await appPage.page.keyboard.press("Enter");
  await attached(appPage).getByText("/prompt-0").waitFor();
  fixture.model.answer(say("From the large one."));
  await appPage.send.click();
  await appPage.answers.getByText("From the large one.").waitFor();
  const request = fixture.model.requests.at(-1);
  assert.equal(request?.model, "gpt-large");
  assert.match(JSON.stringify(request?.messages), /Text of prompt-0\./u);
});

test("a question mark lists the shortcuts, except while one types", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await appPage.composer.fill("Why");
  await appPage.page.keyboard.type("?");
  assert.equal(await appPage.composer.inputValue(), "Why?");
  await appPage.openTab("MCP Servers");
  await appPage.tab("MCP Servers").focus();
  await appPage.page.keyboard.press("?");
  const dialog = appPage.page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await dialog.waitFor();
  assert.deepEqual(await dialog.getByRole("term").allTextContents(), [
    "Command palette",
    "New chat",
    "Write a message",
    "List keyboard shortcuts",
    "Send the message",
    "New line",
    "Stop the answer",
    "Edit the last message, in an empty field",
    "Previous or next question",
  ]);
  await appPage.page.keyboard.press("Escape");
  await eventually(async () => assert.equal(await focusedName(appPage), "MCP Servers"));
});

for (const [name, look] of looks) {
  test(`the palette is free of accessibility faults at ${name}, and fits`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, look);
    await account.connect("my-tools", `${fixture.app.url}/mcp/toolbox`);
    await account.fill(await account.newChat("Time and tide"), ["Tell me of time", "Time flies."]);
    await appPage.open();
    await appPage.answers.first().waitFor();
    await find(appPage, "");
    await inspect(appPage, "palette", look);
    await appPage.page.keyboard.type("ti");
    await option(appPage, /Time flies/u).waitFor();
    await inspect(appPage, "palette-found", look);
    await appPage.page.keyboard.press("Escape");
    await paletteIsGone(appPage);
    await appPage.page.locator("body").press("?");
    await appPage.page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await inspect(appPage, "shortcuts", look);
  });
}
