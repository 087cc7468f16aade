import { expect, test } from "vitest";
import { appContexts, storeAppContext } from "./chat-backend";

const context = (text: string) => ({
  serverName: "boards",
  tool: "board",
  content: [{ type: "text", text }],
});

test("the last word of each app is kept, by chat, and who holds what was kept before sees that more was said", () => {
  storeAppContext("one", "a", context("first"));
  storeAppContext("one", "a", context("second"));
  storeAppContext("one", "b", context("other"));
  storeAppContext("two", "a", context("elsewhere"));
  const sent = appContexts.get("one");
  expect([...(sent?.values() ?? [])].map(({ content }) => content[0]?.["text"])).toEqual(["second", "other"]);
  storeAppContext("one", "b", context("said meanwhile"));
  expect(appContexts.get("one")).not.toBe(sent);
  expect(appContexts.get("two")?.size).toBe(1);
});
