import assert from "node:assert/strict";
import { test } from "node:test";
import { newEmail, password } from "./account.ts";
import { call, hold, say } from "./scripted-model.ts";
import { startFixture } from "./fixture.ts";
import type { AppPage } from "./app-page.ts";

const fixture = await startFixture();

test("signs up, connects a server, asks, sees its tool at work, and finds it all after a reload", async (t) => {
  const email = newEmail();
  const rest = Promise.withResolvers<void>();
  fixture.model.answer(call("calculate", { expression: "12.5 * 8" }));
  fixture.model.answer(
    say("It is **100**, and "),
    hold(rest.promise),
    say("nothing else.\n\n- exactly\n- `100`\n"),
  );

  const appPage = await fixture.openPage(t);
  await appPage.open();
  await appPage.arrivesAt("/auth");
  await appPage.signUp(email);
  await appPage.arrivesAt("/");
  await appPage.toast("Account created!", "You are signed in.");
  await appPage.sees(email);

  await appPage.openTab("MCP Servers");
  await appPage.connect("toolbox", `${fixture.app.url}/mcp/toolbox`);
  await appPage.toast("Connection Successful", "Connected to toolbox with 5 tools");

  await appPage.openTab("Chat");
  await appPage.ask("What is 12.5 times 8? Use calculate.");
  await appPage.answers.getByText("It is 100, and").waitFor();
  assert.equal(
    await appPage.answers.locator("strong").textContent(),
    "100",
    "Markdown shows while it streams",
  );
  await appPage.stop.waitFor();
  rest.resolve();
  await appPage.answered();
  await seesConversation(appPage);

  await appPage.page.reload();
  await seesConversation(appPage);

  const [first, second] = fixture.model.requests.slice(-2);
  assert.ok(first?.tools?.some((tool) => tool.function.name === "calculate"));
  assert.match(
    JSON.stringify(second?.messages.at(-1)),
    /"role":"tool".*100/u,
    "the model was told the result",
  );
});

async function seesConversation(appPage: AppPage): Promise<void> {
  const question = appPage.questions.last();
  await question.getByText("What is 12.5 times 8? Use calculate.").waitFor();
  assert.match((await question.locator("time").textContent()) ?? "", /^\d\d:\d\d$/u);

  const answer = appPage.answers.last();
  await answer.getByText("It is 100, and nothing else.").waitFor();
  assert.deepEqual(await answer.getByRole("listitem").allTextContents(), ["exactly", "100"]);
  assert.equal(await answer.locator("li code").textContent(), "100");
  assert.match((await answer.locator("time").textContent()) ?? "", /^\d\d:\d\d$/u);

  const card = answer.locator('[data-tool="calculate"]');
  assert.equal(await card.getAttribute("data-state"), "done");
  const row = card.getByRole("button", { expanded: false });
  // The letter stands for the icon that the server has not.
  assert.match(
    (await row.textContent()) ?? "",
    /^tcalculate\s*toolbox.*12\.5 \* 8.*Done\s*\d+(\.\d+)? m?s$/u,
  );
  await row.click();
  await card.getByRole("heading", { name: "Result" }).waitFor();
  const body = (await card.textContent()) ?? "";
  assert.match(body, /Arguments\{ "expression": "12\.5 \* 8" \}/u);
  assert.match(body, /Result.*100/u);
}

test("nothing of one person reaches another", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connect("private notes", `${fixture.app.url}/mcp/toolbox`);
  const chat = await account.newChat();
  await account.say(chat, "My secret is 4711");
  await appPage.open(`/?c=${chat}`);
  await appPage.questions.getByText("My secret is 4711").waitFor();

  const { appPage: stranger } = await fixture.openSignedInPage(t);
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
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await appPage.composer.waitFor();
  const other = await appPage.anotherTab();
  await other.open(new URL(appPage.page.url()).search);
  await other.composer.waitFor();

  const rest = Promise.withResolvers<void>();
  fixture.model.answer(say("Both of you "), hold(rest.promise), say("can read this."));
  await appPage.ask("Who can read this?");
  await other.questions.getByText("Who can read this?").waitFor();
  await other.answers.getByText("Both of you").waitFor();
  await other.stop.waitFor();
  rest.resolve();
  for (const tab of [appPage, other]) {
    await tab.answered();
    await tab.answers.getByText("Both of you can read this.").waitFor();
    assert.equal(await tab.questions.count(), 1);
    assert.equal(await tab.answers.count(), 1);
  }

  await other.pressInHeader("Sign Out");
  await other.arrivesAt("/auth");
  await appPage.arrivesAt("/auth");
});

test("an unknown path shows the 404 page, logs the path and leads home", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open("/no/such-page?x=1");
  await appPage.sees("Oops! Page not found");
  assert.ok(
    appPage.logged.some((line) => line.includes("/no/such-page")),
    appPage.logged.join("\n"),
  );
  const link = appPage.page.getByRole("link", { name: "Return to Home", exact: true });
  assert.equal(await link.getAttribute("href"), "/");
  await link.click();
  await appPage.arrivesAt("/");
  await appPage.composer.waitFor();
});

test("signing out ends the session of this browser and forgets the person", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await appPage.sees(account.email);
  await appPage.pressInHeader("Sign Out");
  await appPage.arrivesAt("/auth");
  const kept = await appPage.page.evaluate(() => localStorage.getItem("sb-localhost-auth-token"));
  assert.equal(kept, null);
  const renewed = await fetch(`${fixture.app.url}/auth/v1/token?grant_type=refresh_token`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ refresh_token: account.session.refresh_token }),
  });
  assert.equal(renewed.status, 400, "its refresh token is worth nothing any more");

  await appPage.open();
  await appPage.arrivesAt("/auth");
  await appPage.signIn(account.email, password);
  await appPage.arrivesAt("/");
});
