import { expect, test } from "vitest";
import { cellText } from "@/markdown/table-text";
import { csvTable } from "./csv-table";

const cells = (text: string) =>
  csvTable(text).table.children.map(({ children }) => children.map((cell) => cellText(cell)));

test.each([
  [
    "a,b\r\n1,2\r\n",
    [
      ["a", "b"],
      ["1", "2"],
    ],
  ],
  [
    'a;b\n"x;y";"say ""hi"""',
    [
      ["a", "b"],
      ["x;y", 'say "hi"'],
    ],
  ],
  [
    'a\tb\n"two\nlines"\t',
    [
      ["a", "b"],
      ["two\nlines", ""],
    ],
  ],
  [
    "a,b\n1",
    [
      ["a", "b"],
      ["1", ""],
    ],
  ],
  ['a\n"open', [["a"], ["open"]]],
])("reads %j", (text, rows) => {
  expect(cells(text)).toEqual(rows);
});

test("aligns columns of numbers", () => {
  expect(csvTable("name,n\na,1\nb,2.5").table.align).toEqual([null, "right"]);
});

test("cuts a long or wide text, and says how much is shown", () => {
  const long = csvTable("a,b\n".repeat(100_000));
  expect([long.shownRows, long.table.children.length]).toEqual([2_499, 2_500]);
  expect(csvTable(",".repeat(100_000)).table.children[0]?.children).toHaveLength(64);
  expect(csvTable("a\n1").shownRows).toBeUndefined();
});
