import type { List, Nodes } from "mdast";
import fc from "fast-check";
import { expect, test } from "vitest";
import { advance, EMPTY_MARKDOWN } from "./incremental";
import {
  MAX_CONTAINER_DEPTH,
  MAX_FORMULAS,
  MAX_INLINE_DEPTH,
  MAX_NODES,
  MAX_TABLE_COLUMNS,
} from "./bound-tree";
import { parseMarkdown } from "./parse";
import { isCheapToParse } from "./parse-cost";

/** Maximum depth of a bounded tree: each item has a list around it, and some nodes count as no level. */
const MAX_DEPTH = 2 * MAX_CONTAINER_DEPTH + MAX_INLINE_DEPTH + 6;

function depthOf(node: Nodes): number {
  return "children" in node ? 1 + Math.max(0, ...node.children.map(depthOf)) : 1;
}

function listsOf(node: Nodes): List[] {
  const inside = "children" in node ? node.children.flatMap(listsOf) : [];
  return node.type === "list" ? [node, ...inside] : inside;
}

function wordsOf(node: Nodes): string {
  if ("children" in node) return node.children.map(wordsOf).join("");
  if (node.type === "image" || node.type === "imageReference") return node.alt ?? "";
  return "value" in node ? node.value : "";
}

const marks = fc.constantFrom(
  ">",
  "> ",
  "- ",
  "1. ",
  "* ",
  "*a ",
  "**b ",
  "~~c ",
  "[",
  "![",
  "[^d]: ",
  "_e ",
);
const nested = fc
  .array(fc.tuple(marks, fc.integer({ min: 1, max: 120 })), { minLength: 1, maxLength: 4 })
  .map((runs) => runs.map(([mark, count]) => mark.repeat(count)));

test("no text makes a deep tree", () => {
  fc.assert(
    fc.property(nested, fc.constantFrom("word", "word** a* b~~ c_](d)"), (runs, end) => {
      const text = `${runs.join("")}${end.repeat(10)}`;
      const root = parseMarkdown(text);
      expect(depthOf(root)).toBeLessThanOrEqual(MAX_DEPTH);
      expect(wordsOf(root)).toContain("word");
    }),
    { numRuns: 50 },
  );
}, 60_000);

test("what is deeper is shown as it was written", () => {
  const root = parseMarkdown(`${"> ".repeat(MAX_CONTAINER_DEPTH + 2)}**word**`);
  expect(depthOf(root)).toBe(MAX_CONTAINER_DEPTH + 2);
  expect(wordsOf(root)).toBe("> > **word**");
});

test("a list that is deeper is shown as it was written", () => {
  const levels = MAX_CONTAINER_DEPTH + 2;
  const lines = Array.from({ length: levels }, (_, level) => `${"  ".repeat(level)}- item ${String(level)}`);
  const root = parseMarkdown(lines.join("\n"));
  const lists = listsOf(root);
  expect(lists).toHaveLength(MAX_CONTAINER_DEPTH);
  for (const { children } of lists) expect(children.map(({ type }) => type)).toEqual(["listItem"]);
  expect(wordsOf(root)).toContain(`item ${String(levels - 2)}\n`);
  expect(wordsOf(root)).toContain(`- item ${String(levels - 1)}`);
});

test("a text whose parser overflows is shown as it was written", () => {
  const text = `${">".repeat(8_000)}word`;
  expect(wordsOf(parseMarkdown(text))).toContain("word");
}, 60_000);

test("wide tables and texts of very many parts are shown as they were written", () => {
  const row = (cell: string) => `|${`${cell}|`.repeat(MAX_TABLE_COLUMNS + 1)}`;
  const table = `${row("a")}\n${row("-")}\n${row("b")}`;
  expect(parseMarkdown(table).children).toMatchObject([{ type: "plainText", value: table }]);
  const many = "*a*\n\n".repeat(MAX_NODES / 2.5);
  expect(parseMarkdown(many).children).toMatchObject([{ type: "plainText", value: many }]);
}, 60_000);

const hostile = ["*a_ ", "[a](", "]", "_a__ ", "a*b", "--\n", "- ", "1. ", ">", "> "];

test("texts that take the parser long are told before it begins", () => {
  for (const pattern of hostile) expect(isCheapToParse(pattern.repeat(4_000))).toBe(false);
  const lists = Array.from({ length: 150 }, (_, at) => `${"  ".repeat(at)}- a`);
  expect(isCheapToParse(lists.join("\n"))).toBe(false);
  expect(isCheapToParse(`|${"a|".repeat(3_000)}`)).toBe(false);
  const answer =
    "## Part\n\nSome **bold** and *soft* words, `code_of_it` and [a link](https://example.com).\n\n- one\n- two\n\n```ts\nconst list = [1, 2];\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n";
  expect(isCheapToParse(answer.repeat(60))).toBe(true);
});

test("a text that takes long is plain while it grows, and waits for its tree when it is complete", () => {
  const text = `First **words**.\n\n${"*a_ ".repeat(4_000)}`;
  const growing = advance(EMPTY_MARKDOWN, text, false);
  expect(growing.tail.map(({ node }) => node.type)).toEqual(["plainText"]);
  expect(growing.slowText).toBeNull();
  const complete = advance(growing, text, true);
  expect(complete.slowText).toBe(text);
  expect(complete.finished.map(({ node }) => wordsOf(node)).join("")).toBe(text);
  const tree = { type: "root" as const, children: parseMarkdown("The **tree**").children };
  const settled = advance(complete, text, true, tree);
  expect(settled.finished.map(({ node }) => wordsOf(node))).toEqual(["The tree"]);
  expect(settled.slowText).toBeNull();
  expect(advance(complete, text, true, null)).toMatchObject({ finished: complete.finished, slowText: null });
});

test("a text of very many formulas shows them as they were written", () => {
  const formulas = (count: number) =>
    JSON.stringify(parseMarkdown("$x$ ".repeat(count))).split('"math"').length - 1;
  expect(formulas(MAX_FORMULAS)).toBe(MAX_FORMULAS);
  expect(formulas(MAX_FORMULAS + 1)).toBe(0);
});
