import { expect, test } from "vitest";
import { diffPieces } from "./highlight";

const kinds = (text: string) => diffPieces(text).map(([, kind]) => kind);

test("headers, added and removed lines are told apart", () => {
  const diff = "diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n same\n";
  expect(kinds(diff)).toEqual(["hunk", "hunk", "hunk", "hunk", "hunk", "removed", "added", null]);
});

test("a removed comment of SQL and an added ++x are no headers", () => {
  expect(kinds("@@ -1 +1 @@\n--- a comment\n+++x;\n")).toEqual(["hunk", "removed", "added"]);
  expect(kinds("@@ -1 +1 @@\n-a\n--- b/y\n+++ b/y\n@@ -1 +1 @@\n")).toEqual([
    "hunk",
    "removed",
    "hunk",
    "hunk",
    "hunk",
  ]);
  expect(kinds("-old\n+new")).toEqual(["removed", "added"]);
});
