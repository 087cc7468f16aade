import { expect, test } from "vitest";
import { appContexts } from "../app-contexts";
import { keepContext } from "./keep-context";

const context = (text: string) => ({
  serverName: "boards",
  tool: "board",
  content: [{ type: "text", text }],
});

test("the last word of each app is kept, by chat, and who holds what was kept before sees that more was said", () => {
  keepContext("one", "a", context("first"));
  keepContext("one", "a", context("second"));
  keepContext("one", "b", context("other"));
  keepContext("two", "a", context("elsewhere"));
  const sent = appContexts.get("one");
  expect([...(sent?.values() ?? [])].map(({ content }) => content[0]?.["text"])).toEqual(["second", "other"]);
  keepContext("one", "b", context("said meanwhile"));
  expect(appContexts.get("one")).not.toBe(sent);
  expect(appContexts.get("two")?.size).toBe(1);
});
