import type { Table } from "mdast";
import { expect, test } from "vitest";
import { parseMarkdown } from "./parse";
import { columnNumbers, nextSort, sortedRows } from "./table-sort";

function column(...cells: string[]): Table {
  const [table] = parseMarkdown(`| a |\n| - |\n${cells.map((cell) => `| ${cell} |\n`).join("")}`).children;
  if (table?.type !== "table") throw new Error("no table");
  return table;
}

/** Returns the cells of a column as sorted. */
function sorted(cells: string[], direction: "ascending" | "descending" = "ascending"): string[] {
  return sortedRows(column(...cells), { column: 0, direction }).map((index) => cells[index] ?? "");
}

test("clicks on a head sort ascending, descending and not at all", () => {
  const first = nextSort(undefined, 1);
  expect(first).toEqual({ column: 1, direction: "ascending" });
  const second = nextSort(first, 1);
  expect(second).toEqual({ column: 1, direction: "descending" });
  expect(nextSort(second, 1)).toBe(undefined);
  expect(nextSort(second, 0)).toEqual({ column: 0, direction: "ascending" });
});

test.each([
  [
    ["10", "9", "-1", "−2.5"],
    [10, 9, -1, -2.5],
  ],
  [
    ["3.1 min", "0.4 min", "12 min"],
    [3.1, 0.4, 12],
  ],
  [
    ["1,234.5", "12", "1,234,567"],
    [1234.5, 12, 1234567],
  ],
  [
    ["1.234,5", "12", "3,25"],
    [1234.5, 12, 3.25],
  ],
  [
    ["1,234", "999"],
    [1234, 999],
  ],
  [
    ["0,125", "1,375"],
    [0.125, 1.375],
  ],
  [
    ["12 345", "1’000", "7"],
    [12345, 1000, 7],
  ],
  [
    ["$5.00", "-$1,200", "$0.5"],
    [5, -1200, 0.5],
  ],
  [
    ["93 %", "70 %", "~100 %"],
    [93, 70, 100],
  ],
  [
    ["1e3", "2E-2"],
    [1000, 0.02],
  ],
  [
    ["1,00,000", "2"],
    [100000, 2],
  ],
])("reads %j as numbers", (cells, numbers) => {
  expect(columnNumbers(cells)).toEqual(numbers);
});

test.each([
  [["3 min", "2 h"]],
  [["1", "two"]],
  [["01.03.2024", "15.02.2024"]],
  [["1.2.3", "1.10.0"]],
  [["2024-03-01"]],
  [["$1", "€1"]],
  [["", "–"]],
])("does not read %j as numbers of one unit", (cells) => {
  expect(columnNumbers(cells)).toBe(undefined);
});

test("sorts numbers by value, and texts as readers do", () => {
  expect(sorted(["10", "9", "100"])).toEqual(["9", "10", "100"]);
  expect(sorted(["10", "9", "100"], "descending")).toEqual(["100", "10", "9"]);
  expect(sorted(["Item 10", "item 9", "Äpfel", "Zebra"])).toEqual(["Äpfel", "item 9", "Item 10", "Zebra"]);
});

test("keeps the order of equal rows, and empty cells at the end", () => {
  const rows = (direction: "ascending" | "descending") =>
    sortedRows(column("2", "", "1", "2", "n/a"), { column: 0, direction });
  expect(rows("ascending")).toEqual([2, 0, 3, 1, 4]);
  expect(rows("descending")).toEqual([0, 3, 2, 1, 4]);
});

test("sorts by the text that is shown, without marks", () => {
  expect(sorted(["**b**", "`a`", "[c](https://example.com)"])).toEqual([
    "`a`",
    "**b**",
    "[c](https://example.com)",
  ]);
});
