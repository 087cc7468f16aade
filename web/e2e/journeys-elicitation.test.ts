import assert from "node:assert/strict";
import { after, test, type TestContext } from "node:test";
import type { Locator } from "playwright-core";
import { ask, done, requestedSchema, startPage, state } from "./elicitation-server.ts";
import { focusedName, inspect, looks, reach } from "./look.ts";
import { startPeer } from "./peer.ts";
import { allowAll } from "./permission.ts";
import { call, say } from "./scripted-model.ts";
import { type CallParams, type ScriptedTool, serveTools } from "./scripted-mcp.ts";
import { startFixture } from "./fixture.ts";
import { eventually, type AppPage } from "./app-page.ts";

const fixture = await startFixture();
const everything = await startPeer("mcp-server-everything", ["streamableHttp"], { PORT: "{port}" });
after(() => everything.stop());

interface Inn {
  appPage: AppPage;
  /** The calls that came. */
  calls: CallParams[];
}

/** Opens a page with a connected server `inn`, whose only tool responds with `answer`. */
async function withInn(t: TestContext, answer: ScriptedTool["answer"], options: object = {}): Promise<Inn> {
  const calls: CallParams[] = [];
  const book = {
    name: "book",
    answer: (params: CallParams) => (calls.push(params), answer?.(params) ?? done("")),
  };
  const server = await serveTools([book], { modern: true });
  t.after(() => server.stop());
  const { account, appPage } = await fixture.openSignedInPage(t, options);
  await account.connect("inn", server.url);
  await allowAll(account, "inn");
  await appPage.open();
  return { appPage, calls };
}

/** Asks for a table, and waits for the server's question. */
async function askForTable(appPage: AppPage, title = "inn needs your input"): Promise<void> {
  fixture.model.answer(call("book", {}));
  fixture.model.answer(say("Booked."));
  await appPage.ask("Book a table");
  await question(appPage, title).waitFor();
}

const question = (appPage: AppPage, title = "inn needs your input") =>
  appPage.page.getByRole("region", { name: title, exact: true });

const wantsForm = ({ inputResponses }: CallParams) =>
  inputResponses === undefined
    ? ask({ mode: "form", message: "When shall it be?\u202E", requestedSchema })
    : done(JSON.stringify(inputResponses["table"]));

/** Error message of each field for an invalid value. */
const wrong: readonly [field: string, words: string][] = [
  ["Name⟨U+202E⟩", "Enter at least 2 characters."],
  ["Day", "This field is required."],
  ["Mail", "Enter an email address"],
  ["Site", "Enter a URL, such as https://example.com"],
  ["Moment", "Enter a date and time, such as 2026-11-21T10:00:00Z"],
  ["People", "This must be at most 8."],
];

/** Returns the description that is associated with a field. */
const described = (field: Locator): Promise<string> =>
  field.evaluate((input) => {
    const ids = input.getAttribute("aria-describedby")?.split(" ") ?? [];
    return ids.map((id) => document.getElementById(id)?.textContent).join(" ");
  });

test("a server's form has its defaults, is checked before it is sent, and the call goes on with the answer", async (t) => {
  const { appPage, calls } = await withInn(t, wantsForm);
  await askForTable(appPage);
  const asked = question(appPage);
  await asked.getByText("When shall it be?⟨U+202E⟩", { exact: true }).waitFor();
  await appPage.page.getByRole("status").getByText("book needs your answer").waitFor({ state: "attached" });
  await eventually(async () =>
    assert.equal(await appPage.page.title(), "(1) book needs your answer · AI Chat MCP"),
  );
  assert.equal(await focusedName(appPage), "Message", "the focus stays where it was");
  await appPage.composer.press("Enter");

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
    .getByText("Add at most 1 item.", { exact: true })
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
  await appPage.answers.getByText("Booked.").waitFor();
  await appPage.answered();
  assert.equal(await appPage.page.title(), "AI Chat MCP");
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
  const { appPage, calls } = await withInn(t, wantsForm);
  for (const [button, action] of [
    ["Decline", "decline"],
    ["Cancel", "cancel"],
  ] as const) {
    await askForTable(appPage);
    await reach(appPage, button, "Shift+Tab");
    await appPage.page.keyboard.press("Enter");
    await appPage.answered();
    assert.deepEqual(calls.at(-1)?.inputResponses, { table: { action } });
    assert.match(await focusedName(appPage), /^book/u, "the focus goes on from the card");
  }
});

test("a question stands in every tab and after a reload, and is answered once for all", async (t) => {
  const { appPage, calls } = await withInn(t, wantsForm);
  await askForTable(appPage);
  const other = await appPage.anotherTab();
  await other.open();
  await question(other).waitFor();
  await appPage.page.reload();
  await question(appPage).waitFor();
  await question(other).getByRole("button", { name: "Decline" }).click();
  await question(appPage).waitFor({ state: "hidden" });
  await appPage.answers.getByText("Booked.").waitFor();
  await other.answers.getByText("Booked.").waitFor();
  assert.equal(calls.length, 2);
});

test("a page is shown whole, opened only on a click, without a way back to the chat, and then the call goes on", async (t) => {
  const shop = await startPage(t);
  const pay = (params: CallParams) =>
    params.inputResponses === undefined
      ? ask({ mode: "url", message: "Pay first", url: shop.url, elicitationId: "e" })
      : done(params.inputResponses["table"]?.action ?? "");
  const { appPage, calls } = await withInn(t, pay);
  const title = "inn asks you to open a page";
  await askForTable(appPage, title);
  const asked = question(appPage, title);
  await asked.getByText(shop.url, { exact: true }).waitFor();
  assert.equal(await asked.locator("strong").textContent(), new URL(shop.url).host);
  assert.equal(shop.visits.length, 0, "nothing is fetched unasked");
  const opening = appPage.page.context().waitForEvent("page");
  await asked.getByRole("link", { name: "Open in a new window" }).click();
  const opened = await opening;
  await opened.getByRole("heading", { name: "Pay here" }).waitFor();
  assert.equal(await opened.evaluate(() => window.opener), null);
  assert.deepEqual([...new Set(shop.visits)], [""], "nor is it told where the person comes from");
  assert.equal(calls.length, 1, "opening is not having done it");
  await asked.getByRole("button", { name: "Continue" }).click();
  await appPage.answered();
  assert.deepEqual(calls[1]?.inputResponses, { table: { action: "accept" } });
});

test("a name in letters that look like others is pointed out", async (t) => {
  const pay = (params: CallParams) =>
    params.inputResponses === undefined
      ? ask({ mode: "url", message: "", url: "https://аpple.example/", elicitationId: "e" })
      : done("");
  const { appPage } = await withInn(t, pay);
  const title = "inn asks you to open a page";
  await askForTable(appPage, title);
  await question(appPage, title)
    .getByText(/^The domain xn--pple-43d\.example contains/u)
    .waitFor();
  await appPage.button("Cancel").click();
  await appPage.answered();
});

test("a server of another maker asks in a form and for visits, in the chat", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connect("everything", `http://127.0.0.1:${everything.port}/mcp`);
  await allowAll(account, "everything");
  await appPage.open();
  fixture.model.answer(call("trigger-elicitation-request", {}));
  fixture.model.answer(say("Thank you."));
  await appPage.ask("Ask me");
  const form = question(appPage, "everything needs your input");
  await form
    .getByLabel(/^Name|^String|name/u)
    .first()
    .fill("Ada");
  await form.getByRole("button", { name: "Send answer" }).click();
  await appPage.answers.getByText("Thank you.").waitFor();
  await appPage.answered();

  // It wants another page first, and asks for this one when the call is made again.
  await appPage.page
    .context()
    .route("https://modelcontextprotocol.io/", (route) => route.fulfill({ body: "Done." }));
  const visit = { url: "https://pay.example/1", message: "Pay", errorPath: true };
  fixture.model.answer(call("trigger-url-elicitation", visit));
  fixture.model.answer(say("Paid."));
  await appPage.ask("Now the page");
  const page = question(appPage, "everything asks you to open a page");
  await page.getByText("https://modelcontextprotocol.io/", { exact: true }).waitFor();
  await page.getByRole("link", { name: "Open in a new window" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByText("https://pay.example/1", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Decline" }).click();
  await appPage.answers.getByText("Paid.").waitFor();
});

test("a tool that is run by hand asks in its sheet", async (t) => {
  const { appPage, calls } = await withInn(t, wantsForm);
  await appPage.openTab("Tools");
  await appPage.toolCard("book").getByRole("button", { name: "Use Tool" }).click();
  await appPage.sheet.getByRole("button", { name: "Run", exact: true }).click();
  const asked = appPage.sheet.getByRole("region", { name: "inn needs your input" });
  await asked.getByRole("button", { name: "Decline" }).click();
  await appPage.sheet.getByRole("region", { name: "Result" }).getByText('action: "decline"').waitFor();
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
    const { appPage } = await withInn(t, rounds, look);
    await askForTable(appPage);
    await question(appPage).getByRole("button", { name: "Send answer" }).click();
    await inspect(appPage, "elicitation-form", look);
    await question(appPage).getByRole("heading").scrollIntoViewIfNeeded();
    await inspect(appPage, "elicitation-form-top", look);
    await question(appPage).getByRole("button", { name: "Decline" }).click();
    const title = "inn asks you to open a page";
    await question(appPage, title).waitFor();
    await inspect(appPage, "elicitation-page", look);
    await appPage.button("Cancel").click();
    await appPage.answered();
    await appPage.openTab("Tools");
    await appPage.toolCard("book").getByRole("button", { name: "Use Tool" }).click();
    await appPage.sheet.getByRole("button", { name: "Run", exact: true }).click();
    await appPage.sheet.getByRole("region", { name: "inn needs your input" }).waitFor();
    await inspect(appPage, "elicitation-sheet", look);
  });
}
