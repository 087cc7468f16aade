import { expect, test } from "vitest";
import { contextsOf, forgetContexts, keepContext } from "./app-contexts";

const context = (text: string) => ({
  serverName: "boards",
  tool: "board",
  content: [{ type: "text", text }],
});

test("the last word of each app goes with the next message of its chat, once", () => {
  keepContext("one", "a", context("first"));
  keepContext("one", "a", context("second"));
  keepContext("one", "b", context("other"));
  keepContext("two", "a", context("elsewhere"));
  const sent = contextsOf("one");
  expect(sent.map(({ content }) => content[0]?.["text"])).toEqual(["second", "other"]);
  keepContext("one", "b", context("said meanwhile"));
  forgetContexts("one", sent);
  expect(contextsOf("one").map(({ content }) => content[0]?.["text"])).toEqual(["said meanwhile"]);
  expect(contextsOf("two")).toHaveLength(1);
  expect(contextsOf("three")).toEqual([]);
});
