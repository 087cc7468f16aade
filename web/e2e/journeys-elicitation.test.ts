import assert from "node:assert/strict";
import { after, test, type TestContext } from "node:test";
import type { Locator } from "playwright-core";
import { ask, done, requestedSchema, startPage, state } from "./inn.ts";
import { focusedName, inspect, looks, reach } from "./look.ts";
import { startPeer } from "./peer.ts";
import { allowAll } from "./permission.ts";
import { call, say } from "./scripted-model.ts";
import { type CallParams, type ScriptedTool, serveTools } from "./scripted-mcp.ts";
import { openStage } from "./stage.ts";
import { eventually, type Visitor } from "./visitor.ts";

const stage = await openStage();
const everything = await startPeer("mcp-server-everything", ["streamableHttp"], { PORT: "{port}" });
after(() => everything.stop());

interface Inn {
  visitor: Visitor;
  /** The calls that came. */
  calls: CallParams[];
}

/** Somebody who has connected a server, `inn`, whose one tool is answered by `answer`. */
async function withInn(t: TestContext, answer: ScriptedTool["answer"], options: object = {}): Promise<Inn> {
  const calls: CallParams[] = [];
  const book = {
    name: "book",
    answer: (params: CallParams) => (calls.push(params), answer?.(params) ?? done("")),
  };
  const server = await serveTools([book], { modern: true });
  t.after(() => server.stop());
  const { account, visitor } = await stage.member(t, options);
  await account.connect("inn", server.url);
  await allowAll(account, "inn");
  await visitor.open();
  return { visitor, calls };
}

/** Asks for a table, and waits for the server's question. */
async function askForTable(visitor: Visitor, title = "inn needs your input"): Promise<void> {
  stage.model.answer(call("book", {}));
  stage.model.answer(say("Booked."));
  await visitor.ask("Book a table");
  await question(visitor, title).waitFor();
}

const question = (visitor: Visitor, title = "inn needs your input") =>
  visitor.page.getByRole("region", { name: title, exact: true });

const wantsForm = ({ inputResponses }: CallParams) =>
  inputResponses === undefined
    ? ask({ mode: "form", message: "When shall it be?\u202E", requestedSchema })
    : done(JSON.stringify(inputResponses["table"]));

/** What each field of the form is told when it is filled in wrongly. */
const wrong: readonly [field: string, words: string][] = [
  ["Name⟨U+202E⟩", "Enter at least 2 characters."],
  ["Day", "This field is required."],
  ["Mail", "Enter an email address"],
  ["Site", "Enter a URL, such as https://example.com"],
  ["Moment", "Enter a date and time, such as 2026-11-21T10:00:00Z"],
  ["People", "This must be at most 8."],
];

/** What is said below a field, as it is tied to it. */
const described = (field: Locator): Promise<string> =>
  field.evaluate((input) => {
    const ids = input.getAttribute("aria-describedby")?.split(" ") ?? [];
    return ids.map((id) => document.getElementById(id)?.textContent).join(" ");
  });

test("a server's form has its defaults, is checked before it is sent, and the call goes on with the answer", async (t) => {
  const { visitor, calls } = await withInn(t, wantsForm);
  await askForTable(visitor);
  const asked = question(visitor);
  await asked.getByText("When shall it be?⟨U+202E⟩", { exact: true }).waitFor();
  await visitor.page.getByRole("status").getByText("Waiting for your answer").waitFor({ state: "attached" });
  await eventually(async () => assert.equal(await visitor.page.title(), "(1) AI Chat MCP"));
  assert.equal(await focusedName(visitor), "Message", "the focus stays where it was");
  await visitor.composer.press("Enter");

  const field = (label: string) => asked.getByLabel(label, { exact: false });
  assert.equal(await field("People").inputValue(), "2");
  assert.ok(await asked.getByRole("checkbox", { name: "By the window" }).isChecked());
  assert.ok(await asked.getByRole("checkbox", { name: "A quiet table" }).isChecked());
  assert.equal(await field("Place").locator("option:checked").textContent(), "On the terrace");
  await asked.getByRole("checkbox", { name: "A high chair" }).check();
  await field("People").fill("9");
  await field("Mail").fill("nobody");
  await field("Site").fill("nowhere");
  await field("Moment").fill("tomorrow");
  await field("Name⟨U+202E⟩").fill("A");
  await field("Name⟨U+202E⟩").press("Enter");
  await asked.getByRole("button", { name: "Send answer" }).click();
  const alerts = asked.getByRole("alert");
  await eventually(async () => assert.equal(await alerts.count(), 7));
  for (const [name, words] of wrong)
    assert.equal(await described(field(name)), words, `${name} is told what is wrong with it`);
  await asked
    .getByRole("group", { name: "Wishes" })
    .getByText("Add at most 1 items.", { exact: true })
    .waitFor();
  const hasFocus = await field("Name⟨U+202E⟩").evaluate((input) => input === document.activeElement);
  assert.ok(hasFocus, "the first wrong field has the focus");
  assert.equal(calls.length, 1, "nothing was sent");

  await field("Name⟨U+202E⟩").fill("Ada");
  await field("Day").fill("2026-11-21");
  await field("Mail").fill("ada@example.com");
  await field("Site").fill("https://example.com");
  await field("Moment").fill("2026-11-21T19:00:00Z");
  await field("People").fill("");
  await field("Budget").fill("20.5");
  await field("Meal").selectOption("Dinner");
  await asked.getByRole("checkbox", { name: "wine" }).check();
  await asked.getByRole("checkbox", { name: "A quiet table" }).uncheck();
  await asked.getByRole("button", { name: "Send answer" }).click();
  await visitor.answers.getByText("Booked.").waitFor();
  await visitor.answered();
  assert.equal(await visitor.page.title(), "AI Chat MCP");
  assert.equal(calls[1]?.requestState, state);
  assert.deepEqual(calls[1]?.inputResponses?.["table"], {
    action: "accept",
    content: {
      name: "Ada",
      day: "2026-11-21",
      mail: "ada@example.com",
      site: "https://example.com",
      at: "2026-11-21T19:00:00Z",
      budget: 20.5,
      window: true,
      meal: "dinner",
      place: "out",
      drinks: ["wine"],
      wishes: ["high"],
    },
  });
});

test("declining and cancelling are two answers, and both are given with the keyboard", async (t) => {
  const { visitor, calls } = await withInn(t, wantsForm);
  for (const [button, action] of [
    ["Decline", "decline"],
    ["Cancel", "cancel"],
  ] as const) {
    await askForTable(visitor);
    await reach(visitor, button, "Shift+Tab");
    await visitor.page.keyboard.press("Enter");
    await visitor.answered();
    assert.deepEqual(calls.at(-1)?.inputResponses, { table: { action } });
    assert.match(await focusedName(visitor), /^book/u, "the focus goes on from the card");
  }
});

test("a question stands in every tab and after a reload, and is answered once for all", async (t) => {
  const { visitor, calls } = await withInn(t, wantsForm);
  await askForTable(visitor);
  const other = await visitor.anotherTab();
  await other.open();
  await question(other).waitFor();
  await visitor.page.reload();
  await question(visitor).waitFor();
  await question(other).getByRole("button", { name: "Decline" }).click();
  await question(visitor).waitFor({ state: "hidden" });
  await visitor.answers.getByText("Booked.").waitFor();
  await other.answers.getByText("Booked.").waitFor();
  assert.equal(calls.length, 2);
});

test("a page is shown whole, opened only on a click, without a way back to the chat, and then the call goes on", async (t) => {
  const shop = await startPage(t);
  const pay = (params: CallParams) =>
    params.inputResponses === undefined
      ? ask({ mode: "url", message: "Pay first", url: shop.url, elicitationId: "e" })
      : done(params.inputResponses["table"]?.action ?? "");
  const { visitor, calls } = await withInn(t, pay);
  const title = "inn asks you to open a page";
  await askForTable(visitor, title);
  const asked = question(visitor, title);
  await asked.getByText(shop.url, { exact: true }).waitFor();
  assert.equal(await asked.locator("strong").textContent(), new URL(shop.url).host);
  assert.equal(shop.visits.length, 0, "nothing is fetched unasked");
  const opening = visitor.page.context().waitForEvent("page");
  await asked.getByRole("link", { name: "Open in a new window" }).click();
  const opened = await opening;
  await opened.getByRole("heading", { name: "Pay here" }).waitFor();
  assert.equal(await opened.evaluate(() => window.opener), null);
  assert.deepEqual([...new Set(shop.visits)], [""], "nor is it told where the person comes from");
  assert.equal(calls.length, 1, "opening is not having done it");
  await asked.getByRole("button", { name: "Continue" }).click();
  await visitor.answered();
  assert.deepEqual(calls[1]?.inputResponses, { table: { action: "accept" } });
});

test("a name in letters that look like others is pointed out", async (t) => {
  const pay = (params: CallParams) =>
    params.inputResponses === undefined
      ? ask({ mode: "url", message: "", url: "https://аpple.example/", elicitationId: "e" })
      : done("");
  const { visitor } = await withInn(t, pay);
  const title = "inn asks you to open a page";
  await askForTable(visitor, title);
  await question(visitor, title)
    .getByText(/^The domain xn--pple-43d\.example contains/u)
    .waitFor();
  await visitor.button("Cancel").click();
  await visitor.answered();
});

test("a server of another maker asks in a form and for visits, in the chat", async (t) => {
  const { account, visitor } = await stage.member(t);
  await account.connect("everything", `http://127.0.0.1:${everything.port}/mcp`);
  await allowAll(account, "everything");
  await visitor.open();
  stage.model.answer(call("trigger-elicitation-request", {}));
  stage.model.answer(say("Thank you."));
  await visitor.ask("Ask me");
  const form = question(visitor, "everything needs your input");
  await form
    .getByLabel(/^Name|^String|name/u)
    .first()
    .fill("Ada");
  await form.getByRole("button", { name: "Send answer" }).click();
  await visitor.answers.getByText("Thank you.").waitFor();
  await visitor.answered();

  // It wants another page first, and asks for this one when the call is made again.
  await visitor.page
    .context()
    .route("https://modelcontextprotocol.io/", (route) => route.fulfill({ body: "Done." }));
  const visit = { url: "https://pay.example/1", message: "Pay", errorPath: true };
  stage.model.answer(call("trigger-url-elicitation", visit));
  stage.model.answer(say("Paid."));
  await visitor.ask("Now the page");
  const page = question(visitor, "everything asks you to open a page");
  await page.getByText("https://modelcontextprotocol.io/", { exact: true }).waitFor();
  await page.getByRole("link", { name: "Open in a new window" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByText("https://pay.example/1", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Decline" }).click();
  await visitor.answers.getByText("Paid.").waitFor();
});

test("a tool that is run by hand asks in its sheet", async (t) => {
  const { visitor, calls } = await withInn(t, wantsForm);
  await visitor.openTab("Tools");
  await visitor.toolCard("book").getByRole("button", { name: "Use Tool" }).click();
  await visitor.sheet.getByRole("button", { name: "Run", exact: true }).click();
  const asked = visitor.sheet.getByRole("region", { name: "inn needs your input" });
  await asked.getByRole("button", { name: "Decline" }).click();
  await visitor.sheet.getByRole("region", { name: "Result" }).getByText('{ "action": "decline" }').waitFor();
  assert.deepEqual(calls[1]?.inputResponses, { table: { action: "decline" } });
});

for (const [name, look] of looks) {
  test(`questions of servers are free of accessibility faults at ${name}, and fit`, async (t) => {
    const rounds = ({ inputResponses }: CallParams) => {
      if (inputResponses === undefined)
        return ask({ mode: "form", message: "When shall it be?", requestedSchema });
      if ("page" in inputResponses) return done("");
      const url = "https://аpple.example/pay?order=7&and=a-very-long-query-that-goes-on-and-on-and-on";
      const params = { mode: "url", message: "Pay first", url };
      const page = { method: "elicitation/create", params };
      return { result: { resultType: "input_required", inputRequests: { page } } };
    };
    const { visitor } = await withInn(t, rounds, look);
    await askForTable(visitor);
    await question(visitor).getByRole("button", { name: "Send answer" }).click();
    await inspect(visitor, "elicitation-form", look);
    await question(visitor).getByRole("heading").scrollIntoViewIfNeeded();
    await inspect(visitor, "elicitation-form-top", look);
    await question(visitor).getByRole("button", { name: "Decline" }).click();
    const title = "inn asks you to open a page";
    await question(visitor, title).waitFor();
    await inspect(visitor, "elicitation-page", look);
    await visitor.button("Cancel").click();
    await visitor.answered();
    await visitor.openTab("Tools");
    await visitor.toolCard("book").getByRole("button", { name: "Use Tool" }).click();
    await visitor.sheet.getByRole("button", { name: "Run", exact: true }).click();
    await visitor.sheet.getByRole("region", { name: "inn needs your input" }).waitFor();
    await inspect(visitor, "elicitation-sheet", look);
  });
}
