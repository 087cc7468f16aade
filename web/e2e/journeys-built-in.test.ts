import assert from "node:assert/strict";
import { test } from "node:test";
import { newEmail } from "./account.ts";
import { startFixture } from "./fixture.ts";

// No provider and no other model: what a fresh installation has.
const fixture = await startFixture({ OPENAI_BASE_URL: "", CHAT_LOCAL_MODEL: "" });

/** Reading the tools and writing a few words on two busy cores, in milliseconds. */
const patience = 180_000;

test("the main job with the built-in model, without a key or a network", async (t) => {
  const appPage = await fixture.openPage(t);
  await appPage.open();
  await appPage.signUp(newEmail());
  await appPage.arrivesAt("/");
  await appPage.openTab("MCP Servers");
  await appPage.button("Use the toolbox").click();
  await appPage.toast("Connection Successful", "Connected to toolbox with 5 tools");

  await appPage.openTab("Chat");
  await appPage.button(/^Model: /u).click();
  await appPage.page
    .getByRole("dialog", { name: "About the model" })
    .getByText(/Apache/u)
    .waitFor();
  await appPage.page.keyboard.press("Escape");

  await appPage.ask("What is 12.5 times 8? Use calculate.");
  await appPage.sees("AI is thinking...");
  await appPage.answered(patience);
  const card = appPage.toolCall("calculate");
  assert.equal(await card.getAttribute("data-state"), "done");
  await card.getByRole("button", { expanded: false }).click();
  await card.getByRole("heading", { name: "Result" }).waitFor();
  assert.match((await card.textContent()) ?? "", /12\.5 ?\* ?8.*Result.*100/u);
  assert.match((await appPage.answers.last().innerText()).replace(/^.*Done/su, ""), /100/u);

  await appPage.page.reload();
  await appPage.toolCall("calculate").waitFor();
  await appPage.questions.getByText("What is 12.5 times 8? Use calculate.").waitFor();
});
