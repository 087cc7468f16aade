import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { ask, done, requestedSchema } from "./inn.ts";
import { focusedName, inspect, looks, reach } from "./look.ts";
import { allowAll } from "./permission.ts";
import { call, say } from "./scripted-model.ts";
import { type CallParams, type ScriptedTool, serveTools } from "./scripted-mcp.ts";
import { openStage } from "./stage.ts";
import type { Visitor } from "./visitor.ts";

const stage = await openStage();

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
async function askForTable(visitor: Visitor, title = "inn asks you"): Promise<void> {
  stage.model.answer(call("book", {}));
  stage.model.answer(say("Booked."));
  await visitor.ask("Book a table");
  await question(visitor, title).waitFor();
}

const question = (visitor: Visitor, title = "inn asks you") =>
  visitor.page.getByRole("region", { name: title, exact: true });

const wantsForm = ({ inputResponses }: CallParams) =>
  inputResponses === undefined
    ? ask({ mode: "form", message: "When shall it be?\u202E", requestedSchema })
    : done(JSON.stringify(inputResponses["table"]));

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

/** A page that counts who looked at it. */
async function startPage(t: TestContext): Promise<{ url: string; visits: string[] }> {
  const visits: string[] = [];
  const server = createServer((request, response) => {
    // The browser asks for an icon by itself, from the page that it has opened.
    if (request.url !== "/favicon.ico") visits.push(request.headers.referer ?? "");
    response.writeHead(200, { "content-type": "text/html" }).end("<title>Pay</title><h1>Pay here</h1>");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/pay?order=7`, visits };
}

test("a page is shown whole, opened only on a click, without a way back to the chat, and then the call goes on", async (t) => {
  const shop = await startPage(t);
  const pay = (params: CallParams) =>
    params.inputResponses === undefined
      ? ask({ mode: "url", message: "Pay first", url: shop.url, elicitationId: "e" })
      : done(params.inputResponses["table"]?.action ?? "");
  const { visitor, calls } = await withInn(t, pay);
  const title = "inn wants you to visit a page";
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
  await asked.getByRole("button", { name: "Done, go on" }).click();
  await visitor.answered();
  assert.deepEqual(calls[1]?.inputResponses, { table: { action: "accept" } });
});

test("a name in letters that look like others is pointed out", async (t) => {
  const pay = (params: CallParams) =>
    params.inputResponses === undefined
      ? ask({ mode: "url", message: "", url: "https://аpple.example/", elicitationId: "e" })
      : done("");
  const { visitor } = await withInn(t, pay);
  const title = "inn wants you to visit a page";
  await askForTable(visitor, title);
  await question(visitor, title)
    .getByText(/^The name of this page, xn--pple-43d\.example,/u)
    .waitFor();
  await visitor.button("Cancel").click();
  await visitor.answered();
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
    const title = "inn wants you to visit a page";
    await question(visitor, title).waitFor();
    await inspect(visitor, "elicitation-page", look);
    await visitor.button("Cancel").click();
    await visitor.answered();
    await visitor.openTab("Tools");
    await visitor.toolCard("book").getByRole("button", { name: "Use Tool" }).click();
    await visitor.sheet.getByRole("button", { name: "Run", exact: true }).click();
    await visitor.sheet.getByRole("region", { name: "inn asks you" }).waitFor();
    await inspect(visitor, "elicitation-sheet", look);
  });
}
