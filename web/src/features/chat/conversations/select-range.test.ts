import { expect, test } from "vitest";
import { selectRange } from "./select-range";

const ids = ["a", "b", "c", "d", "e"];

test.each([
  { from: "b", to: "d", expected: ["b", "c", "d"] },
  { from: "d", to: "b", expected: ["b", "c", "d"] },
  { from: undefined, to: "c", expected: ["c"] },
  { from: "gone", to: "c", expected: ["c"] },
])("selects from $from to $to", ({ from, to, expected }) => {
  expect([...selectRange(ids, new Set(), from, to, true)]).toEqual(expected);
});

test("deselects a range and keeps the rest", () => {
  expect([...selectRange(ids, new Set(ids), "d", "b", false)]).toEqual(["a", "e"]);
});
