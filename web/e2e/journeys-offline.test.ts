import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect, looks } from "./look.ts";
import { startFixture } from "./fixture.ts";
import { eventually, type AppPage } from "./app-page.ts";

const fixture = await startFixture();

/** The list of messages that wait for a network. */
const held = ({ page }: AppPage) =>
  page.getByRole("region", { name: "Not sent yet. It will be sent when you're back online." });

const goOffline = async ({ page }: AppPage, offline: boolean) => page.context().setOffline(offline);

for (const [name, look] of looks) {
  test(`messages written without a network are sent in order when it is back, at ${name}`, async (t) => {
    const { appPage } = await fixture.openSignedInPage(t, look);
    await appPage.open();
    await appPage.composer.waitFor();
    await goOffline(appPage, true);
    await appPage.page
      .getByRole("status")
      .getByText("You're offline. Unsent messages will be sent when you're back online.")
      .waitFor();
    await appPage.ask("Zerubbabel");
    await held(appPage).getByText("Zerubbabel").waitFor();
    assert.equal(await appPage.composer.inputValue(), "");
    await appPage.ask("Nehemiah");
    await held(appPage).getByText("Nehemiah").waitFor();
    await appPage.page.getByRole("region", { name: "New Chat" }).waitFor();
    assert.equal(await appPage.questions.count(), 0);
    await inspect(appPage, "offline-held", look);

    await held(appPage)
      .getByRole("listitem")
      .filter({ hasText: "Nehemiah" })
      .getByRole("button")
      .first()
      .click();
    await appPage.field("Queued message").fill("Nehemiah, in other words");
    await appPage.button("Save").click();
    await held(appPage).getByText("Nehemiah, in other words").waitFor();
    await appPage.ask("Not that");
    const unwanted = held(appPage).getByRole("listitem").filter({ hasText: "Not that" });
    await unwanted.getByRole("button", { name: "Remove queued message" }).click();
    await unwanted.waitFor({ state: "detached" });

    await goOffline(appPage, false);
    await eventually(async () => assert.equal(await appPage.answers.count(), 2));
    await held(appPage).waitFor({ state: "detached" });
    assert.deepEqual(
      fixture.model.requests.map(({ messages }) => messages.findLast(({ role }) => role === "user")?.content),
      ["Zerubbabel", "Nehemiah, in other words"],
    );
    await appPage.page.getByRole("region", { name: "Zerubbabel" }).waitFor();
  });
}

test("a held message outlives the page and is sent from another chat", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await appPage.composer.waitFor();
  await appPage.page.route("**/functions/v1/ai-chat", (route) => route.abort());
  await goOffline(appPage, true);
  await appPage.ask("Zerubbabel");
  await held(appPage).waitFor();
  // The server stays away for a while after the network is back.
  await goOffline(appPage, false);
  await appPage.page.reload();
  await held(appPage).getByText("Zerubbabel").waitFor();
  const other = await account.newChat("Another chat");
  await appPage.open(`/?chat=${other}`);
  await appPage.page.getByRole("region", { name: "Another chat" }).waitFor();
  assert.equal(await held(appPage).count(), 0);
  assert.equal(fixture.model.requests.length, 0);
  await appPage.page.unroute("**/functions/v1/ai-chat");
  await eventually(async () => {
    const stored = await account.call<unknown[]>("/rest/v1/ai_chat_messages?select=content&order=created_at");
    assert.deepEqual(stored, [{ content: "Zerubbabel" }, { content: "OK" }]);
  });
});

test("a held message whose answer was lost on the way is not stored twice", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await appPage.composer.waitFor();
  await goOffline(appPage, true);
  await appPage.ask("Zerubbabel");
  await held(appPage).waitFor();
  let sent = 0;
  await appPage.page.route("**/functions/v1/ai-chat", async (route) => {
    sent += 1;
    if (sent > 1) return route.fallback();
    // The whole answer was written, and nobody heard of it.
    await route.fetch();
    return route.abort();
  });
  await goOffline(appPage, false);
  await held(appPage).waitFor({ state: "detached" });
  await eventually(async () => assert.equal(await appPage.answers.count(), 1));
  assert.equal(sent, 2);
  assert.equal(fixture.model.requests.length, 1);
  const stored = await account.call<unknown[]>("/rest/v1/ai_chat_messages?select=content&order=created_at");
  assert.deepEqual(stored, [{ content: "Zerubbabel" }, { content: "OK" }]);
});

test("a held message that the server refuses says why, and goes out when it is put right", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  await appPage.composer.waitFor();
  await goOffline(appPage, true);
  await appPage.ask("Zerubbabel");
  await held(appPage).waitFor();
  // As if a server that the message was to use had been removed meanwhile.
  await appPage.page.route("**/functions/v1/ai-chat", (route) => {
    const body = JSON.parse(route.request().postData() ?? "") as object;
    return route.continue({
      postData: JSON.stringify({ ...body, tools: [{ name: "gone", serverName: "gone" }] }),
    });
  });
  await goOffline(appPage, false);
  const refused = appPage.page.getByRole("region", { name: /^Not sent: .*gone/u });
  await refused.waitFor();
  await appPage.page.unroute("**/functions/v1/ai-chat");
  await refused.getByRole("button", { name: "Edit queued message" }).click();
  await appPage.field("Queued message").fill("Shorter");
  await appPage.button("Save").click();
  await refused.waitFor({ state: "detached" });
  await eventually(async () => assert.equal(await appPage.answers.count(), 1));
  await appPage.questions.getByText("Shorter").waitFor();
});
