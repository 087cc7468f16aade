import assert from "node:assert/strict";
import { test } from "node:test";
import type { Account } from "./account.ts";
import { inspect, looks } from "./look.ts";
import { attached, list, openMcpContext, option } from "./mcp-context.ts";
import { say } from "./scripted-model.ts";
import { eventually, type AppPage } from "./app-page.ts";

const { fixture, connected } = await openMcpContext();

/** The option that the field says is the active one. */
function active({ composer }: AppPage): Promise<string> {
  return composer.evaluate((field) => {
    const id = field.getAttribute("aria-activedescendant");
    return (id === null ? undefined : document.getElementById(id)?.textContent) ?? "";
  });
}

/** Returns the last message that the model received. */
function read(): string {
  const messages = fixture.model.requests.at(-1)?.messages ?? [];
  const content = messages.at(-1)?.content;
  assert.ok(typeof content === "string");
  return content;
}

/** Calls a tool of the server manually and returns its result. */
async function result(appPage: AppPage, tool: string, fill?: () => Promise<void>) {
  await appPage.openTab("Tools");
  await appPage.toolCard(tool).getByRole("button", { name: "Use Tool" }).click();
  await fill?.();
  await appPage.sheet.getByRole("button", { name: "Run", exact: true }).click();
  return appPage.sheet.getByRole("region", { name: "Result" });
}

test("a prompt is found by a slash, filled in with its server's help, looked at and sent", async (t) => {
  const { appPage } = await connected(t);
  await appPage.open();
  await appPage.composer.pressSequentially("/");
  await option(appPage, "Prompts", /^\/completable-prompt/u).waitFor();
  await appPage.composer.pressSequentially("prompt");
  await appPage.composer.press("ArrowDown");
  await appPage.composer.press("ArrowUp");
  await appPage.composer.fill("/compl");
  await eventually(async () => assert.match(await active(appPage), /^\/completable-prompttheirs/u));
  await appPage.composer.press("Enter");

  const department = appPage.sheet.getByRole("combobox", { name: "department required" });
  await department.pressSequentially("S");
  await list(appPage, "Suggestions").getByRole("option", { name: "Support" }).waitFor();
  await department.press("ArrowDown");
  await department.press("Enter");
  assert.equal(await department.inputValue(), "Sales");
  const name = appPage.sheet.getByRole("combobox", { name: "name required" });
  await name.focus();
  await list(appPage, "Suggestions").getByRole("option", { name: "Eve" }).click();
  await name.press("Enter");

  const chip = appPage.button("Show /completable-prompt theirs");
  await chip.click();
  await appPage.sheet.getByText("Please promote Eve to the head of the Sales team.").waitFor();
  await appPage.page.keyboard.press("Escape");
  assert.equal(await appPage.composer.inputValue(), "");
  await appPage.page.reload();
  await chip.waitFor();

  fixture.model.answer(say("Done."));
  await appPage.send.click();
  await appPage.answered();
  assert.match(read(), /user: Please promote Eve to the head of the Sales team\./u);
  assert.match(read(), /\n\n\/completable-prompt$/u);
  const question = appPage.questions.last();
  await question.getByText("/completable-prompt", { exact: true }).last().waitFor();
  await appPage.page.reload();
  await question.getByRole("button", { name: "Show /completable-prompt theirs" }).click();
  await appPage.sheet.getByText("Please promote Eve to the head of the Sales team.").waitFor();
  await appPage.page.keyboard.press("Escape");
  assert.equal(await appPage.composer.inputValue(), "");
});

test("resources and filled-in templates go with a message, and can be taken away", async (t) => {
  const { appPage } = await connected(t);
  await appPage.open();
  await appPage.composer.pressSequentially("Compare @archi");
  await option(appPage, "Resources", /architecture/u).waitFor();
  await appPage.composer.press("Enter");
  await attached(appPage)
    .getByRole("button", { name: /^Show architecture/u })
    .waitFor();
  assert.equal(await appPage.composer.inputValue(), "Compare ");

  await appPage.composer.pressSequentially("@dynamic text");
  await list(appPage, "Resources").waitFor({ state: "hidden" });
  await appPage.composer.fill("Compare ");
  await appPage.button("Add a resource").click();
  await option(appPage, "Resources", /^Dynamic Text/u).click();
  await appPage.sheet.getByRole("combobox", { name: "resourceId" }).fill("7");
  await appPage.sheet.getByText("demo://resource/dynamic/text/7", { exact: true }).waitFor();
  await appPage.sheet.getByRole("button", { name: "Attach", exact: true }).click();
  await eventually(async () => assert.equal(await attached(appPage).getByRole("listitem").count(), 2));
  await appPage.button(/^Remove architecture/u).click();
  await eventually(async () => assert.equal(await attached(appPage).getByRole("listitem").count(), 1));

  fixture.model.answer(say("Compared."));
  await appPage.composer.fill("Compare them");
  await appPage.composer.press("Enter");
  await appPage.answered();
  assert.match(read(), /"demo:\/\/resource\/dynamic\/text\/7"\), a resource of the server "theirs"/u);
  assert.match(read(), /Resource 7: This is a plaintext resource[^]*\n\nCompare them$/u);
  assert.doesNotMatch(read(), /architecture/u);
  assert.equal(await appPage.page.getByRole("button", { name: /^Remove/u }).count(), 0);
});

test("a resource that cannot be read says why, and the message waits for what is being read", async (t) => {
  const { appPage } = await connected(t);
  await appPage.open();
  await appPage.button("Add a resource").click();
  await option(appPage, "Resources", /^Dynamic Text/u).click();
  await appPage.sheet.getByRole("combobox", { name: "resourceId" }).fill("none");
  await appPage.sheet.getByRole("button", { name: "Attach", exact: true }).click();
  await appPage.sheet
    .getByRole("alert")
    .getByText(/^The server theirs answered with an error/u)
    .waitFor();
});

test("what a server changes after it was attached says so, and can be read again", async (t) => {
  const { account, appPage } = await connected(t);
  await appPage.open();
  await appPage.composer.pressSequentially("@archi");
  const watching = appPage.page.waitForResponse((response) => response.url().endsWith("/resources/watch"));
  await option(appPage, "Resources", /architecture/u).click();
  assert.deepEqual(await (await watching).json(), { watching: true });
  await run(account, "toggle-subscriber-updates");
  await attached(appPage).getByText("Outdated", { exact: true }).waitFor();
  await run(account, "toggle-subscriber-updates");
  await appPage.button(/has changed since it was attached: refresh$/u).click();
  await attached(appPage).getByText("Outdated", { exact: true }).waitFor({ state: "hidden" });
});

async function run(account: Account, name: string): Promise<void> {
  await account.call("/api/tools/run", { serverName: "theirs", name, arguments: {} });
}

test("links in results are read through their server, and lead outside only when asked", async (t) => {
  const { appPage } = await connected(t);
  await appPage.open();
  const requests: string[] = [];
  appPage.page.on("request", (request) => requests.push(request.url()));
  const found = await result(appPage, "get-resource-links");
  await found.getByRole("button", { name: "Read from theirs" }).first().waitFor();
  await found.getByText("demo://resource/dynamic/blob/1", { exact: true }).waitFor();
  assert.ok(requests.every((url) => url.startsWith(fixture.app.url)));
  await found.getByRole("button", { name: "Read from theirs" }).nth(1).click();
  await found.getByText(/^Resource 2: This is a plaintext resource/u).waitFor();
  await found.getByRole("button", { name: "Read from theirs" }).first().click();
  const saved = appPage.page.waitForEvent("download");
  await found.getByRole("button", { name: /^Save 1/u }).click();
  assert.equal((await saved).suggestedFilename(), "1");
});

for (const [name, look] of looks) {
  test(`prompts and resources are beautiful and accessible at ${name}`, async (t) => {
    const { appPage } = await connected(t, look);
    await appPage.open();
    await appPage.button("Insert a prompt").click();
    await option(appPage, "Prompts", /^\/args-prompt/u).waitFor();
    await inspect(appPage, "offers-prompts", look);
    await option(appPage, "Prompts", /^\/completable-prompt/u).click();
    const department = appPage.sheet.getByRole("combobox", { name: "department required" });
    await department.focus();
    await list(appPage, "Suggestions").waitFor();
    await inspect(appPage, "offers-fill-in", look);
    await department.fill("Sales");
    await appPage.sheet.getByRole("combobox", { name: "name required" }).fill("Eve");
    await appPage.sheet.getByRole("button", { name: "Attach", exact: true }).click();
    await appPage.button("Add a resource").click();
    await option(appPage, "Resources", /architecture/u).waitFor();
    await inspect(appPage, "offers-resources", look);
    await option(appPage, "Resources", /architecture/u).click();
    await attached(appPage)
      .getByRole("button", { name: /^Show architecture/u })
      .waitFor();
    await inspect(appPage, "offers-attached", look);
    fixture.model.answer(say("It is a server that shows everything."));
    await appPage.composer.fill("What is it?");
    await appPage.submit();
    await appPage.answered();
    await inspect(appPage, "offers-sent", look);
    await appPage.button("Show /completable-prompt theirs").click();
    await appPage.sheet.getByText(/^Please promote Eve/u).waitFor();
    await inspect(appPage, "offers-shown", look);
    await appPage.page.keyboard.press("Escape");
    const found = await result(appPage, "get-resource-links");
    await found.getByRole("button", { name: "Read from theirs" }).first().click();
    await found.getByRole("button", { name: /^Save/u }).waitFor();
    await inspect(appPage, "offers-links", look);
  });
}
