import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openStage } from "./stage.ts";
import { eventually, type Visitor } from "./visitor.ts";

const stage = await openStage();
const words = "the table is away";

/** What is loaded, from where, for which tab, and what of the tab is there all the same. */
const loads = [
  { what: "sessions", path: "/rest/v1/ai_chat_sessions", at: "/", stays: "AI Assistant" },
  { what: "history", path: "/rest/v1/ai_chat_messages", at: "/", stays: "AI Assistant" },
  { what: "connections", path: "/rest/v1/mcp_servers", at: "/?tab=servers", stays: "Active Connections" },
  { what: "live connections", path: "/api/connections", at: "/?tab=servers", stays: "Active Connections" },
];

describe("a load that fails is only logged, with nothing shown", { concurrency: true }, () => {
  for (const { what, path, at, stays } of loads) {
    test(what, async (t) => {
      const { account, visitor } = await stage.member(t);
      await account.newChat("There all along");
      let asked = 0;
      await visitor.page.route(`**${path}*`, async (route) => {
        asked++;
        await route.fulfill({ status: 500, json: { code: "XX000", message: words } });
      });
      await watchToasts(visitor);
      await visitor.open(at);
      await visitor.page.getByRole("heading", { name: stays }).waitFor();
      const log = () => visitor.logged.join("\n");
      await eventually(() => assert.match(log(), /Loading failed:[\s\S]*the table is away/u));
      assert.ok(asked > 0);
      assert.doesNotMatch(log(), /shown:/u);
      await visitor.seesNo(words);
      // Without a chat there is nothing that a message could be sent to.
      assert.equal(await visitor.send.count(), what === "history" ? 1 : 0);
      await visitor.page.getByRole("heading", { name: stays }).waitFor();
    });
  }

  test("older history", async (t) => {
    const { account, visitor } = await stage.member(t);
    const session_id = await account.newChat("Long ago");
    const messages = Array.from({ length: 31 }, (_, at) => ({
      session_id,
      role: "user",
      content: `message ${at}`,
      created_at: new Date(Date.UTC(2026, 0, 1, 0, at)).toISOString(),
    }));
    await account.call("/rest/v1/ai_chat_messages", messages);
    await visitor.page.route(/ai_chat_messages.*created_at=lt/u, (route) =>
      route.fulfill({ status: 500, json: { code: "XX000", message: words } }),
    );
    await watchToasts(visitor);
    await visitor.open();
    await visitor.questions.getByText("message 30", { exact: true }).waitFor();
    await visitor.page.getByRole("group", { name: "Conversation" }).press("Home");
    await eventually(() =>
      assert.match(visitor.logged.join("\n"), /Loading failed:[\s\S]*the table is away/u),
    );
    assert.doesNotMatch(visitor.logged.join("\n"), /shown:/u);
    await visitor.seesNo(words);
    await visitor.questions.getByText("message 1", { exact: true }).waitFor();
  });
});

/** Writes every toast to the console: it goes by itself, and must not be missed. */
async function watchToasts({ page }: Visitor): Promise<void> {
  await page.addInitScript(() => {
    new MutationObserver(() => {
      const toast = document.querySelector("[role=status] > *");
      if (toast?.closest("section") && toast.textContent) console.error("shown:", toast.textContent);
    }).observe(document, { childList: true, subtree: true });
  });
}
