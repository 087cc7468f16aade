import { expect, test } from "vitest";
import { findTrigger, withoutTrigger } from "./menu-trigger";

const at = (text: string) => findTrigger(text, text.length);

test.each([
  ["/", "prompt", ""],
  ["/poem", "prompt", "poem"],
  ["@", "resource", ""],
  ["Compare @no", "resource", "no"],
  ["two lines\n@file://x", "resource", "file://x"],
])("%j asks for a %s", (text, kind, query) => {
  expect(at(text)).toMatchObject({ kind, query });
});

test.each([
  "",
  "and/or",
  "see /etc/hosts",
  " /poem",
  "/poem about",
  "mail me at ada@example.com",
  "@ada said",
  "a@",
])("%j is only text", (text) => {
  expect(at(text)).toBeUndefined();
});

test("the cursor decides, not the end of the text", () => {
  expect(findTrigger("/poem about rain", 3)).toEqual({ kind: "prompt", query: "po", start: 0, end: 5 });
  const trigger = findTrigger("read @no and say", 8);
  expect(trigger).toMatchObject({ query: "no", start: 5 });
  expect(trigger && withoutTrigger("read @no and say", trigger)).toBe("read  and say");
  const within = findTrigger("read @notes and say", 8);
  expect(within).toMatchObject({ query: "no", start: 5, end: 11 });
  expect(within && withoutTrigger("read @notes and say", within)).toBe("read  and say");
});
