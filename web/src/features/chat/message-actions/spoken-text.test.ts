import { expect, test } from "vitest";
import { spokenPassages } from "./spoken-text";

test("words are read without signs, code blocks and formulas", () => {
  const markdown =
    "# Title\n\nSome **bold** `word` and a [link](https://example.com).\n\n```ts\nconst secret = 1;\n```\n\n- one\n- two\n\n$$\nx^2\n$$\n";
  expect(spokenPassages(markdown)).toEqual(["Title", "Some bold word and a link.", "one", "two"]);
});

test("a table is read by rows", () => {
  expect(spokenPassages("| a | b |\n|---|---|\n| 1 | 2 |")).toEqual(["a, b", "1, 2"]);
});

test("long paragraphs are split at the ends of sentences", () => {
  const sentence = "This is a sentence of some length that goes on for a while.";
  const passages = spokenPassages(Array.from({ length: 8 }, () => sentence).join(" "));
  expect(passages.length).toBeGreaterThan(1);
  for (const passage of passages) {
    expect(passage.length).toBeLessThanOrEqual(220);
    expect(passage).toMatch(/while\.$/u);
  }
});

test("an answer of code alone has nothing to read", () => {
  expect(spokenPassages("```\n1\n```")).toEqual([]);
});
