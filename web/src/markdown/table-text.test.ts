import fc from "fast-check";
import type { Nodes, Table } from "mdast";
import { expect, test } from "vitest";
import { parseMarkdown } from "./parse";
import { cellText, orderedTable, toCsv, toMarkdown } from "./table-text";

function tableIn(text: string): Table {
  const table = parseMarkdown(text).children.find((block) => block.type === "table");
  if (!table) throw new Error(`no table in ${text}`);
  return table;
}

/** Returns a node without the places in its source, and neighbouring texts as one. */
function bare(node: Nodes): unknown {
  const { position: _position, data: _data, ...rest } = node;
  if (!("children" in node)) return rest;
  const children: unknown[] = [];
  let text = "";
  const flush = () => {
    if (text !== "") children.push({ type: "text", value: text });
    text = "";
  };
  for (const child of node.children) {
    if (child.type === "text") text += child.value;
    else {
      flush();
      children.push(bare(child));
    }
  }
  flush();
  return { ...rest, children };
}

test("CSV quotes what RFC 4180 asks for, and ends each line with CRLF", () => {
  const table = tableIn('| a | b, c |\n| - | - |\n| say "hi" | one<br>two |\n| **x** | `y` |\n| only one |');
  expect(toCsv(table)).toBe('a,"b, c"\r\n"say ""hi""","one\ntwo"\r\nx,y\r\nonly one,\r\n');
});

test("cells beyond the head are copied, too", () => {
  const table = tableIn("| a |\n| - |\n| 1 | 2 |");
  expect(toCsv(table)).toBe("a,\r\n1,2\r\n");
  expect(toMarkdown(table, new Map())).toBe("| a |  |\n| --- | --- |\n| 1 | 2 |\n");
});

test("CSV changes no data, whatever it begins with", () => {
  const table = tableIn("| n |\n| - |\n| -5 |\n| +49 30 1 |\n| =1+1 |\n| @me |");
  expect(toCsv(table)).toBe("n\r\n-5\r\n+49 30 1\r\n=1+1\r\n@me\r\n");
});

test("copies rows in the order in which they are shown", () => {
  const table = tableIn("| n |\n| - |\n| 1 |\n| 2 |\n| 3 |");
  expect(toCsv(orderedTable(table, [2, 0, 1]))).toBe("n\r\n3\r\n1\r\n2\r\n");
  expect(toCsv(orderedTable(table, undefined))).toBe(toCsv(table));
});

test("Markdown keeps alignment, marks, links, code and formulas", () => {
  const source = [
    "| Step | Wait | Load |",
    "| :-- | :-: | --: |",
    "| **Review** of *all* ~~old~~ | `a \\| b` | $x_1$ |",
    "| [site](https://example.com/a_b) | snake_case | costs $5 |",
    "| [a &#91;b\\]](https://example.com) | [a\\] | $1 |",
    "| ![cat](https://example.com/c.png) | one<br>two | [^1] |",
    "",
    "[^1]: Note",
  ].join("\n");
  expect(`${toMarkdown(tableIn(source), new Map())}\n[^1]: Note`).toBe(source);
});

test("Markdown of a link by reference holds its URL", () => {
  const root = parseMarkdown("| a |\n| - |\n| [site][x] |\n\n[x]: https://example.com");
  const [table, definition] = root.children;
  if (table?.type !== "table" || definition?.type !== "definition") throw new Error("no table");
  expect(toMarkdown(table, new Map([["x", definition]]))).toBe(
    "| a |\n| --- |\n| [site](https://example.com) |\n",
  );
});

const hasEmphasis = (node: Nodes): boolean =>
  /^(?:strong|emphasis|delete)$/u.test(node.type) || ("children" in node && node.children.some(hasEmphasis));

const piece = fc.constantFrom(
  ..."a|b|_|*|**|`|\\|[|]|(|)|<|>|&|&amp;|~|~~|$|$5| |!|#|1.|snake_case|<br>|x".split("|"),
  "\\|",
);
const cell = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));

test("Markdown of a table is read as the same table", () => {
  fc.assert(
    fc.property(cell, cell, (first, second) => {
      const table = tableIn(`| h |\n| - |\n| x${first} |\n| ${second}y |`);
      // A backslash before an escaped bar makes it the end of a cell.
      fc.pre(table.children.every(({ children }) => children.length === 1));
      // Marks around punctuation alone depend on what is beside them.
      fc.pre(!hasEmphasis(table));
      const again = tableIn(toMarkdown(table, new Map()));
      expect(again.children.map(({ children }) => children.map((one) => cellText(one).trim()))).toEqual(
        table.children.map(({ children }) => children.map((one) => cellText(one).trim())),
      );
      expect(bare(again)).toEqual(bare(table));
    }),
    {
      numRuns: 500,
      examples: [
        ["[a]", ""],
        ["[[a](b)](b)", "\\[a\\]"],
      ],
    },
  );
});
