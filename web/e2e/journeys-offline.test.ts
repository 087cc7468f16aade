import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect, looks } from "./look.ts";
import { openStage } from "./stage.ts";
import { eventually, type Visitor } from "./visitor.ts";

const stage = await openStage();

/** The list of messages that wait for a network. */
const held = ({ page }: Visitor) =>
  page.getByRole("region", { name: "Not sent yet. It will be sent when you're back online." });

const goOffline = async ({ page }: Visitor, offline: boolean) => page.context().setOffline(offline);

for (const [name, look] of looks) {
  test(`messages written without a network are sent in order when it is back, at ${name}`, async (t) => {
    const { visitor } = await stage.member(t, look);
    await visitor.open();
    await visitor.composer.waitFor();
    await goOffline(visitor, true);
    await visitor.page
      .getByRole("status")
      .getByText("You're offline. Messages will be sent when you're back online.")
      .waitFor();
    await visitor.ask("Zerubbabel");
    await held(visitor).getByText("Zerubbabel").waitFor();
    assert.equal(await visitor.composer.inputValue(), "");
    await visitor.ask("Nehemiah");
    await held(visitor).getByText("Nehemiah").waitFor();
    await visitor.page.getByRole("region", { name: "New Chat" }).waitFor();
    assert.equal(await visitor.questions.count(), 0);
    await inspect(visitor, "offline-held", look);

    await held(visitor)
      .getByRole("listitem")
      .filter({ hasText: "Nehemiah" })
      .getByRole("button")
      .first()
      .click();
    await visitor.field("Queued message").fill("Nehemiah, in other words");
    await visitor.button("Save").click();
    await held(visitor).getByText("Nehemiah, in other words").waitFor();
    await visitor.ask("Not that");
    const unwanted = held(visitor).getByRole("listitem").filter({ hasText: "Not that" });
    await unwanted.getByRole("button", { name: "Remove queued message" }).click();
    await unwanted.waitFor({ state: "detached" });

    await goOffline(visitor, false);
    await eventually(async () => assert.equal(await visitor.answers.count(), 2));
    await held(visitor).waitFor({ state: "detached" });
    assert.deepEqual(
      stage.model.requests.map(({ messages }) => messages.findLast(({ role }) => role === "user")?.content),
      ["Zerubbabel", "Nehemiah, in other words"],
    );
    await visitor.page.getByRole("region", { name: "Zerubbabel" }).waitFor();
  });
}

test("a held message outlives the page and is sent from another chat", async (t) => {
  const { account, visitor } = await stage.member(t);
  await visitor.open();
  await visitor.composer.waitFor();
  await visitor.page.route("**/functions/v1/ai-chat", (route) => route.abort());
  await goOffline(visitor, true);
  await visitor.ask("Zerubbabel");
  await held(visitor).waitFor();
  // The server stays away for a while after the network is back.
  await goOffline(visitor, false);
  await visitor.page.reload();
  await held(visitor).getByText("Zerubbabel").waitFor();
  const other = await account.newChat("Another chat");
  await visitor.open(`/?chat=${other}`);
  await visitor.page.getByRole("region", { name: "Another chat" }).waitFor();
  assert.equal(await held(visitor).count(), 0);
  assert.equal(stage.model.requests.length, 0);
  await visitor.page.unroute("**/functions/v1/ai-chat");
  await eventually(async () => {
    const stored = await account.call<unknown[]>("/rest/v1/ai_chat_messages?select=content&order=created_at");
    assert.deepEqual(stored, [{ content: "Zerubbabel" }, { content: "OK" }]);
  });
});

test("a held message whose answer was lost on the way is not stored twice", async (t) => {
  const { account, visitor } = await stage.member(t);
  await visitor.open();
  await visitor.composer.waitFor();
  await goOffline(visitor, true);
  await visitor.ask("Zerubbabel");
  await held(visitor).waitFor();
  let sent = 0;
  await visitor.page.route("**/functions/v1/ai-chat", async (route) => {
    sent += 1;
    if (sent > 1) return route.fallback();
    // The whole answer was written, and nobody heard of it.
    await route.fetch();
    return route.abort();
  });
  await goOffline(visitor, false);
  await held(visitor).waitFor({ state: "detached" });
  await eventually(async () => assert.equal(await visitor.answers.count(), 1));
  assert.equal(sent, 2);
  assert.equal(stage.model.requests.length, 1);
  const stored = await account.call<unknown[]>("/rest/v1/ai_chat_messages?select=content&order=created_at");
  assert.deepEqual(stored, [{ content: "Zerubbabel" }, { content: "OK" }]);
});

test("a held message that the server refuses says why, and goes out when it is put right", async (t) => {
  const { visitor } = await stage.member(t);
  await visitor.open();
  await visitor.composer.waitFor();
  await goOffline(visitor, true);
  await visitor.ask("Zerubbabel");
  await held(visitor).waitFor();
  // As if a server that the message was to use had been removed meanwhile.
  await visitor.page.route("**/functions/v1/ai-chat", (route) => {
    const body = JSON.parse(route.request().postData() ?? "") as object;
    return route.continue({
      postData: JSON.stringify({ ...body, tools: [{ name: "gone", serverName: "gone" }] }),
    });
  });
  await goOffline(visitor, false);
  const refused = visitor.page.getByRole("region", { name: /^Not sent: .*gone/u });
  await refused.waitFor();
  await visitor.page.unroute("**/functions/v1/ai-chat");
  await refused.getByRole("button", { name: "Edit queued message" }).click();
  await visitor.field("Queued message").fill("Shorter");
  await visitor.button("Save").click();
  await refused.waitFor({ state: "detached" });
  await eventually(async () => assert.equal(await visitor.answers.count(), 1));
  await visitor.questions.getByText("Shorter").waitFor();
});
