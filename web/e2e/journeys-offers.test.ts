import assert from "node:assert/strict";
import { test } from "node:test";
import type { Account } from "./account.ts";
import { inspect, looks } from "./look.ts";
import { attached, list, openOffers, option } from "./offers.ts";
import { say } from "./scripted-model.ts";
import { eventually, type Visitor } from "./visitor.ts";

const { stage, connected } = await openOffers();

/** The option that the field says is the active one. */
function active({ composer }: Visitor): Promise<string> {
  return composer.evaluate((field) => {
    const id = field.getAttribute("aria-activedescendant");
    return (id === null ? undefined : document.getElementById(id)?.textContent) ?? "";
  });
}

/** What the model read of the last message. */
function read(): string {
  const messages = stage.model.requests.at(-1)?.messages ?? [];
  const content = messages.at(-1)?.content;
  assert.ok(typeof content === "string");
  return content;
}

/** Has a tool of the server run by hand, and gives its result. */
async function result(visitor: Visitor, tool: string, fill?: () => Promise<void>) {
  await visitor.openTab("Tools");
  await visitor.toolCard(tool).getByRole("button", { name: "Use Tool" }).click();
  await fill?.();
  await visitor.sheet.getByRole("button", { name: "Run", exact: true }).click();
  return visitor.sheet.getByRole("region", { name: "Result" });
}

test("a prompt is found by a slash, filled in with its server's help, looked at and sent", async (t) => {
  const { visitor } = await connected(t);
  await visitor.open();
  await visitor.composer.pressSequentially("/");
  await option(visitor, "Prompts", /^\/completable-prompt/u).waitFor();
  await visitor.composer.pressSequentially("prompt");
  await visitor.composer.press("ArrowDown");
  await visitor.composer.press("ArrowUp");
  await visitor.composer.fill("/compl");
  await eventually(async () => assert.match(await active(visitor), /^\/completable-prompttheirs/u));
  await visitor.composer.press("Enter");

  const department = visitor.sheet.getByRole("combobox", { name: "department required" });
  await department.pressSequentially("S");
  await list(visitor, "Suggestions").getByRole("option", { name: "Support" }).waitFor();
  await department.press("ArrowDown");
  await department.press("Enter");
  assert.equal(await department.inputValue(), "Sales");
  const name = visitor.sheet.getByRole("combobox", { name: "name required" });
  await name.focus();
  await list(visitor, "Suggestions").getByRole("option", { name: "Eve" }).click();
  await name.press("Enter");

  const chip = visitor.button("Show /completable-prompt theirs");
  await chip.click();
  await visitor.sheet.getByText("Please promote Eve to the head of the Sales team.").waitFor();
  await visitor.page.keyboard.press("Escape");
  assert.equal(await visitor.composer.inputValue(), "");
  await visitor.page.reload();
  await chip.waitFor();

  stage.model.answer(say("Done."));
  await visitor.send.click();
  await visitor.answered();
  assert.match(read(), /user: Please promote Eve to the head of the Sales team\./u);
  assert.match(read(), /\n\n\/completable-prompt$/u);
  const question = visitor.questions.last();
  await question.getByText("/completable-prompt", { exact: true }).last().waitFor();
  await visitor.page.reload();
  await question.getByRole("button", { name: "Show /completable-prompt theirs" }).click();
  await visitor.sheet.getByText("Please promote Eve to the head of the Sales team.").waitFor();
  await visitor.page.keyboard.press("Escape");
  assert.equal(await visitor.composer.inputValue(), "");
});

test("resources and filled-in templates go with a message, and can be taken away", async (t) => {
  const { visitor } = await connected(t);
  await visitor.open();
  await visitor.composer.pressSequentially("Compare @archi");
  await option(visitor, "Resources", /architecture/u).waitFor();
  await visitor.composer.press("Enter");
  await attached(visitor)
    .getByRole("button", { name: /^Show architecture/u })
    .waitFor();
  assert.equal(await visitor.composer.inputValue(), "Compare ");

  await visitor.composer.pressSequentially("@dynamic text");
  await list(visitor, "Resources").waitFor({ state: "hidden" });
  await visitor.composer.fill("Compare ");
  await visitor.button("Add a resource").click();
  await option(visitor, "Resources", /^Dynamic Text/u).click();
  await visitor.sheet.getByRole("combobox", { name: "resourceId" }).fill("7");
  await visitor.sheet.getByText("demo://resource/dynamic/text/7", { exact: true }).waitFor();
  await visitor.sheet.getByRole("button", { name: "Attach", exact: true }).click();
  await eventually(async () => assert.equal(await attached(visitor).getByRole("listitem").count(), 2));
  await visitor.button(/^Remove architecture/u).click();
  await eventually(async () => assert.equal(await attached(visitor).getByRole("listitem").count(), 1));

  stage.model.answer(say("Compared."));
  await visitor.composer.fill("Compare them");
  await visitor.composer.press("Enter");
  await visitor.answered();
  assert.match(read(), /"demo:\/\/resource\/dynamic\/text\/7"\), a resource of the server "theirs"/u);
  assert.match(read(), /Resource 7: This is a plaintext resource[^]*\n\nCompare them$/u);
  assert.doesNotMatch(read(), /architecture/u);
  assert.equal(await visitor.page.getByRole("button", { name: /^Remove/u }).count(), 0);
});

test("a resource that cannot be read says why, and the message waits for what is being read", async (t) => {
  const { visitor } = await connected(t);
  await visitor.open();
  await visitor.button("Add a resource").click();
  await option(visitor, "Resources", /^Dynamic Text/u).click();
  await visitor.sheet.getByRole("combobox", { name: "resourceId" }).fill("none");
  await visitor.sheet.getByRole("button", { name: "Attach", exact: true }).click();
  await visitor.sheet
    .getByRole("alert")
    .getByText(/^The server theirs answered with an error/u)
    .waitFor();
});

test("what a server changes after it was attached says so, and can be read again", async (t) => {
  const { account, visitor } = await connected(t);
  await visitor.open();
  await visitor.composer.pressSequentially("@archi");
  const watching = visitor.page.waitForResponse((response) => response.url().endsWith("/resources/watch"));
  await option(visitor, "Resources", /architecture/u).click();
  assert.deepEqual(await (await watching).json(), { watching: true });
  await run(account, "toggle-subscriber-updates");
  await attached(visitor).getByText("Outdated", { exact: true }).waitFor();
  await run(account, "toggle-subscriber-updates");
  await visitor.button(/has changed since it was attached: refresh$/u).click();
  await attached(visitor).getByText("Outdated", { exact: true }).waitFor({ state: "hidden" });
});

async function run(account: Account, name: string): Promise<void> {
  await account.call("/api/tools/run", { serverName: "theirs", name, arguments: {} });
}

test("links in results are read through their server, and lead outside only when asked", async (t) => {
  const { visitor } = await connected(t);
  await visitor.open();
  const requests: string[] = [];
  visitor.page.on("request", (request) => requests.push(request.url()));
  const found = await result(visitor, "get-resource-links");
  await found.getByRole("button", { name: "Read from theirs" }).first().waitFor();
  await found.getByText("demo://resource/dynamic/blob/1", { exact: true }).waitFor();
  assert.ok(requests.every((url) => url.startsWith(stage.app.url)));
  await found.getByRole("button", { name: "Read from theirs" }).nth(1).click();
  await found.getByText(/^Resource 2: This is a plaintext resource/u).waitFor();
  await found.getByRole("button", { name: "Read from theirs" }).first().click();
  const saved = visitor.page.waitForEvent("download");
  await found.getByRole("button", { name: /^Save 1/u }).click();
  assert.equal((await saved).suggestedFilename(), "1");
});

for (const [name, look] of looks) {
  test(`prompts and resources are beautiful and accessible at ${name}`, async (t) => {
    const { visitor } = await connected(t, look);
    await visitor.open();
    await visitor.button("Insert a prompt").click();
    await option(visitor, "Prompts", /^\/args-prompt/u).waitFor();
    await inspect(visitor, "offers-prompts", look);
    await option(visitor, "Prompts", /^\/completable-prompt/u).click();
    const department = visitor.sheet.getByRole("combobox", { name: "department required" });
    await department.focus();
    await list(visitor, "Suggestions").waitFor();
    await inspect(visitor, "offers-fill-in", look);
    await department.fill("Sales");
    await visitor.sheet.getByRole("combobox", { name: "name required" }).fill("Eve");
    await visitor.sheet.getByRole("button", { name: "Attach", exact: true }).click();
    await visitor.button("Add a resource").click();
    await option(visitor, "Resources", /architecture/u).waitFor();
    await inspect(visitor, "offers-resources", look);
    await option(visitor, "Resources", /architecture/u).click();
    await attached(visitor)
      .getByRole("button", { name: /^Show architecture/u })
      .waitFor();
    await inspect(visitor, "offers-attached", look);
    stage.model.answer(say("It is a server that shows everything."));
    await visitor.composer.fill("What is it?");
    await visitor.submit();
    await visitor.answered();
    await inspect(visitor, "offers-sent", look);
    await visitor.button("Show /completable-prompt theirs").click();
    await visitor.sheet.getByText(/^Please promote Eve/u).waitFor();
    await inspect(visitor, "offers-shown", look);
    await visitor.page.keyboard.press("Escape");
    const found = await result(visitor, "get-resource-links");
    await found.getByRole("button", { name: "Read from theirs" }).first().click();
    await found.getByRole("button", { name: /^Save/u }).waitFor();
    await inspect(visitor, "offers-links", look);
  });
}
