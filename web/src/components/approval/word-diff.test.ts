import fc from "fast-check";
import { expect, test } from "vitest";
import { type DiffRun, diffWords } from "./word-diff";

const textIn = (runs: readonly DiffRun[], left: DiffRun["kind"]) =>
  runs.flatMap(({ kind, text }) => (kind === left ? [] : [text])).join("");

test("marks added and removed words between the common ones", () => {
  expect(diffWords("Creates a file.", "Creates a file and shares it.")).toEqual([
    { kind: "same", text: "Creates a file" },
    { kind: "added", text: " and shares it" },
    { kind: "same", text: "." },
  ]);
  expect(diffWords("Reads a file", "Deletes a file")).toEqual([
    { kind: "removed", text: "Reads" },
    { kind: "added", text: "Deletes" },
    { kind: "same", text: " a file" },
  ]);
});

test("has no runs for empty texts, and one for a new text", () => {
  expect(diffWords("", "")).toEqual([]);
  expect(diffWords("", "All new")).toEqual([{ kind: "added", text: "All new" }]);
  expect(diffWords("All old", "")).toEqual([{ kind: "removed", text: "All old" }]);
});

test("contains both texts completely", () => {
  const words = fc.array(fc.constantFrom("a", "b", " ", "\n", "{", "é", "👍"), { maxLength: 30 });
  fc.assert(
    fc.property(words, words, (before, now) => {
      const runs = diffWords(before.join(""), now.join(""));
      expect(textIn(runs, "added")).toBe(before.join(""));
      expect(textIn(runs, "removed")).toBe(now.join(""));
    }),
  );
});

test("shows huge changes as a replacement of the middle", () => {
  const [before, now] = ["a b ".repeat(2_000), "c d ".repeat(2_000)];
  expect(diffWords(`x ${before}y`, `x ${now}y`).map(({ kind }) => kind)).toEqual([
    "same",
    "removed",
    "added",
    "same",
  ]);
});
