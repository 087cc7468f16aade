import { expect, test } from "vitest";
import { insertSpoken } from "./insert-spoken";

test.each([
  { before: "", after: "", spoken: " hello  there ", text: "hello there", end: 11 },
  { before: "Say", after: "", spoken: "hello", text: "Say hello", end: 9 },
  { before: "Say ", after: "to Ada", spoken: "hello", text: "Say hello to Ada", end: 9 },
  { before: "Say", after: ", please", spoken: "hello", text: "Say hello, please", end: 9 },
  { before: "Say", after: " it", spoken: " ", text: "Say it", end: 3 },
])("inserts $spoken between $before and $after", ({ spoken, text, end, ...place }) => {
  expect(insertSpoken(place, spoken)).toEqual({ text, end });
});
