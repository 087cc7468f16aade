import assert from "node:assert/strict";
import { test } from "node:test";
import { newEmail } from "./account.ts";
import { openStage } from "./stage.ts";

// No provider and no other model: what a fresh installation has.
const stage = await openStage({ OPENAI_BASE_URL: "", CHAT_LOCAL_MODEL: "" });

/** Reading the tools and writing a few words on two busy cores, in milliseconds. */
const patience = 180_000;

test("the main job with the built-in model, without a key or a network", async (t) => {
  const visitor = await stage.visitor(t);
  await visitor.open();
  await visitor.signUp(newEmail());
  await visitor.arrivesAt("/");
  await visitor.openTab("MCP Servers");
  await visitor.button("Use the toolbox").click();
  await visitor.toast("Connection Successful", "Connected to toolbox with 5 tools");

  await visitor.openTab("Chat");
  await visitor.button(/^Model: /u).click();
  await visitor.page
    .getByRole("dialog", { name: "About the model" })
    .getByText(/Apache/u)
    .waitFor();
  await visitor.page.keyboard.press("Escape");

  await visitor.ask("What is 12.5 times 8? Use calculate.");
  await visitor.sees("AI is thinking...");
  await visitor.answered(patience);
  const card = visitor.toolCall("calculate");
  assert.equal(await card.getAttribute("data-state"), "done");
  await card.getByRole("button", { expanded: false }).click();
  await card.getByRole("heading", { name: "Result" }).waitFor();
  assert.match((await card.textContent()) ?? "", /12\.5 ?\* ?8.*Result.*100/u);
  assert.match((await visitor.answers.last().innerText()).replace(/^.*Done/su, ""), /100/u);

  await visitor.page.reload();
  await visitor.toolCall("calculate").waitFor();
  await visitor.questions.getByText("What is 12.5 times 8? Use calculate.").waitFor();
});
