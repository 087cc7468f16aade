import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openStage } from "./stage.ts";
import { eventually } from "./visitor.ts";

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
      // A toast goes by itself; this one would not be missed.
      await visitor.page.addInitScript(() => {
        new MutationObserver(() => {
          const toast = document.querySelector("[role=status] > *");
          if (toast?.closest("section") && toast.textContent) console.error("shown:", toast.textContent);
        }).observe(document, { childList: true, subtree: true });
      });
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
});
