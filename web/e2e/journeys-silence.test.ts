import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { startFixture } from "./fixture.ts";
import { eventually, type AppPage } from "./app-page.ts";

const fixture = await startFixture();
const words = "the table is away";

/** Lazily loaded chunks: the request, its source, the tab, and content that is visible nevertheless. */
const loads = [
  { what: "sessions", path: "/rest/v1/ai_chat_sessions", at: "/", stays: "AI Assistant" },
  { what: "history", path: "/rest/v1/ai_chat_messages", at: "/", stays: "AI Assistant" },
  { what: "connections", path: "/rest/v1/mcp_servers", at: "/?tab=servers", stays: "Active Connections" },
  { what: "live connections", path: "/api/connections", at: "/?tab=servers", stays: "Active Connections" },
];

describe("a load that fails is only logged, with nothing shown", { concurrency: true }, () => {
  for (const { what, path, at, stays } of loads) {
    test(what, async (t) => {
      const { account, appPage } = await fixture.openSignedInPage(t);
      await account.newChat("There all along");
      let asked = 0;
      await appPage.page.route(`**${path}*`, async (route) => {
        asked++;
        await route.fulfill({ status: 500, json: { code: "XX000", message: words } });
      });
      await watchToasts(appPage);
      await appPage.open(at);
      await appPage.page.getByRole("heading", { name: stays }).waitFor();
      const log = () => appPage.logged.join("\n");
      await eventually(() => assert.match(log(), /Loading failed:[\s\S]*the table is away/u));
      assert.ok(asked > 0);
      assert.doesNotMatch(log(), /shown:/u);
      await appPage.seesNo(words);
      // Without a chat there is nothing that a message could be sent to.
      assert.equal(await appPage.send.count(), what === "history" ? 1 : 0);
      await appPage.page.getByRole("heading", { name: stays }).waitFor();
    });
  }

  test("older history", async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t);
    const session_id = await account.newChat("Long ago");
    const messages = Array.from({ length: 31 }, (_, at) => ({
      session_id,
      role: "user",
      content: `message ${at}`,
      created_at: new Date(Date.UTC(2026, 0, 1, 0, at)).toISOString(),
    }));
    await account.call("/rest/v1/ai_chat_messages", messages);
    await appPage.page.route(/ai_chat_messages.*created_at=lt/u, (route) =>
      route.fulfill({ status: 500, json: { code: "XX000", message: words } }),
    );
    await watchToasts(appPage);
    await appPage.open();
    await appPage.questions.getByText("message 30", { exact: true }).waitFor();
    await appPage.page.getByRole("group", { name: "Conversation" }).press("Home");
    await eventually(() =>
      assert.match(appPage.logged.join("\n"), /Loading failed:[\s\S]*the table is away/u),
    );
    assert.doesNotMatch(appPage.logged.join("\n"), /shown:/u);
    await appPage.seesNo(words);
    await appPage.questions.getByText("message 1", { exact: true }).waitFor();
  });
});

/** Writes every toast to the console: it goes by itself, and must not be missed. */
async function watchToasts({ page }: AppPage): Promise<void> {
  await page.addInitScript(() => {
    new MutationObserver(() => {
      const toast = document.querySelector("[role=status] > *");
      if (toast?.closest("section") && toast.textContent) console.error("shown:", toast.textContent);
    }).observe(document, { childList: true, subtree: true });
  });
}
