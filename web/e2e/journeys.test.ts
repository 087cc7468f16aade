import assert from "node:assert/strict";
import { test } from "node:test";
import { newEmail, password } from "./account.ts";
import { call, hold, say } from "./scripted-model.ts";
import { openStage } from "./stage.ts";
import type { Visitor } from "./visitor.ts";

const stage = await openStage();

test("signs up, connects a server, asks, sees its tool at work, and finds it all after a reload", async (t) => {
  const email = newEmail();
  const rest = Promise.withResolvers<void>();
  stage.model.answer(call("calculate", { expression: "12.5 * 8" }));
  stage.model.answer(
    say("It is **100**, and "),
    hold(rest.promise),
    say("nothing else.\n\n- exactly\n- `100`\n"),
  );

  const visitor = await stage.visitor(t);
  await visitor.open();
  await visitor.arrivesAt("/auth");
  await visitor.signUp(email);
  await visitor.arrivesAt("/");
  await visitor.toast("Account created!", "You are signed in.");
  await visitor.sees(email);

  await visitor.openTab("MCP Servers");
  await visitor.connect("toolbox", `${stage.app.url}/mcp/toolbox`);
  await visitor.toast("Connection Successful", "Connected to toolbox with 5 tools");

  await visitor.openTab("Chat");
  await visitor.ask("What is 12.5 times 8? Use calculate.");
  await visitor.answers.getByText("It is 100, and").waitFor();
  assert.equal(
    await visitor.answers.locator("strong").textContent(),
    "100",
    "Markdown shows while it streams",
  );
  await visitor.stop.waitFor();
  rest.resolve();
  await visitor.answered();
  await seesConversation(visitor);

  await visitor.page.reload();
  await seesConversation(visitor);

  const [first, second] = stage.model.requests.slice(-2);
  assert.ok(first?.tools?.some((tool) => tool.function.name === "calculate"));
  assert.match(
    JSON.stringify(second?.messages.at(-1)),
    /"role":"tool".*100/u,
    "the model was told the result",
  );
});

async function seesConversation(visitor: Visitor): Promise<void> {
  const question = visitor.questions.last();
  await question.getByText("What is 12.5 times 8? Use calculate.").waitFor();
  assert.match((await question.locator("time").textContent()) ?? "", /^\d\d:\d\d$/u);

  const answer = visitor.answers.last();
  await answer.getByText("It is 100, and nothing else.").waitFor();
  assert.deepEqual(await answer.getByRole("listitem").allTextContents(), ["exactly", "100"]);
  assert.equal(await answer.locator("li code").textContent(), "100");
  assert.match((await answer.locator("time").textContent()) ?? "", /^\d\d:\d\d$/u);

  const card = answer.locator('[data-tool="calculate"]');
  assert.equal(await card.getAttribute("data-state"), "done");
  const row = card.getByRole("button", { expanded: false });
  assert.match((await row.textContent()) ?? "", /^calculate\s*toolbox.*12\.5 \* 8.*Done\s*\d+(\.\d+)? m?s$/u);
  await row.click();
  await card.getByRole("heading", { name: "Result" }).waitFor();
  const body = (await card.textContent()) ?? "";
  assert.match(body, /Arguments\{ "expression": "12\.5 \* 8" \}/u);
  assert.match(body, /Result.*100/u);
}

test("nothing of one person reaches another", async (t) => {
  const { account, visitor } = await stage.member(t);
  await account.connect("private notes", `${stage.app.url}/mcp/toolbox`);
  const chat = await account.newChat();
  await account.say(chat, "My secret is 4711");
  await visitor.open(`/?c=${chat}`);
  await visitor.questions.getByText("My secret is 4711").waitFor();

  const { visitor: stranger } = await stage.member(t);
  await stranger.open(`/?c=${chat}`);
  await stranger.button("Chats (1)").waitFor();
  const chats = await stranger.openChats();
  assert.equal(await chats.getByRole("listitem").count(), 1);
  await chats.getByText("New Chat").waitFor();
  await stranger.openTab("MCP Servers");
  await stranger.sees("No active connections");
  await stranger.openTab("Tools");
  await stranger.sees("No Tools Available");
  await stranger.seesNo(/4711|private notes/u);
});

test("two tabs show the same turn, and signing out in one leads both away", async (t) => {
  const { visitor } = await stage.member(t);
  await visitor.open();
  await visitor.composer.waitFor();
  const other = await visitor.anotherTab();
  await other.open(new URL(visitor.page.url()).search);
  await other.composer.waitFor();

  const rest = Promise.withResolvers<void>();
  stage.model.answer(say("Both of you "), hold(rest.promise), say("can read this."));
  await visitor.ask("Who can read this?");
  await other.questions.getByText("Who can read this?").waitFor();
  await other.answers.getByText("Both of you").waitFor();
  await other.stop.waitFor();
  rest.resolve();
  for (const tab of [visitor, other]) {
    await tab.answered();
    await tab.answers.getByText("Both of you can read this.").waitFor();
    assert.equal(await tab.questions.count(), 1);
    assert.equal(await tab.answers.count(), 1);
  }

  await other.button("Sign Out").click();
  await other.arrivesAt("/auth");
  await visitor.arrivesAt("/auth");
});

test("an unknown path shows the 404 page, logs the path and leads home", async (t) => {
  const { visitor } = await stage.member(t);
  await visitor.open("/no/such-page?x=1");
  await visitor.sees("Oops! Page not found");
  assert.ok(
    visitor.logged.some((line) => line.includes("/no/such-page")),
    visitor.logged.join("\n"),
  );
  const link = visitor.page.getByRole("link", { name: "Return to Home", exact: true });
  assert.equal(await link.getAttribute("href"), "/");
  await link.click();
  await visitor.arrivesAt("/");
  await visitor.composer.waitFor();
});

test("signing out ends the session of this browser and forgets the person", async (t) => {
  const { account, visitor } = await stage.member(t);
  await visitor.open();
  await visitor.sees(account.email);
  await visitor.button("Sign Out").click();
  await visitor.arrivesAt("/auth");
  const kept = await visitor.page.evaluate(() => localStorage.getItem("sb-localhost-auth-token"));
  assert.equal(kept, null);
  const renewed = await fetch(`${stage.app.url}/auth/v1/token?grant_type=refresh_token`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ refresh_token: account.session.refresh_token }),
  });
  assert.equal(renewed.status, 400, "its refresh token is worth nothing any more");

  await visitor.open();
  await visitor.arrivesAt("/auth");
  await visitor.signIn(account.email, password);
  await visitor.arrivesAt("/");
});
