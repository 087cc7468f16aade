import type { Nodes, Table, TableCell, TableRow } from "mdast";
import type { Definitions } from "./incremental";

/** Line break in a cell, which has no other. */
const BREAK_TAG = /^<br\s*\/?>$/iu;

/** Returns the text of a cell as it is shown, without marks. */
export function cellText(node: Nodes | undefined): string {
  if (node === undefined) return "";
  if (node.type === "html" && BREAK_TAG.test(node.value)) return "\n";
  if (node.type === "break") return "\n";
  if ("children" in node) return node.children.map(cellText).join("");
  if ("value" in node) return node.value;
  if (node.type === "footnoteReference") return `[${node.label ?? node.identifier}]`;
  return "alt" in node ? (node.alt ?? "") : "";
}

/** Returns the table with its rows in the given order, as it is shown. */
export function orderedTable(table: Table, order: readonly number[] | undefined): Table {
  const [head, ...rows] = table.children;
  if (!head || !order) return table;
  return { ...table, children: [head, ...order.flatMap((index) => rows[index] ?? [])] };
}

/**
 * Returns a table as CSV (RFC 4180). Cells that a spreadsheet could take for formulas stay as they are: a mark before
 * them would change the data, and negative numbers and phone numbers begin as formulas do.
 */
export function toCsv({ children }: Table): string {
  const width = columnsOf(children);
  return children.map((row) => `${cellsOf(row, width).map(csvField).join(",")}\r\n`).join("");

  function cellsOf(row: TableRow, count: number): string[] {
    return Array.from({ length: count }, (_, column) => cellText(row.children[column]));
  }
}

function csvField(text: string): string {
  return /[",\r\n]/u.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Returns the number of columns, also those of cells beyond the head. */
const columnsOf = (rows: readonly TableRow[]): number =>
  rows.reduce((most, { children }) => Math.max(most, children.length), 0);

const DELIMITERS = { left: ":--", center: ":-:", right: "--:" } as const;

/** Returns a table as Markdown. Links by reference get their URL, because the definitions stay behind. */
export function toMarkdown({ align, children }: Table, definitions: Definitions): string {
  const width = columnsOf(children);
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |\n`;
  const [head = "", ...body] = children.map(({ children: cells }) =>
    row(Array.from({ length: width }, (_, column) => cellMarkdown(cells[column], definitions))),
  );
  const delimiters = Array.from({ length: width }, (_, column) => {
    const side = align?.[column];
    return side ? DELIMITERS[side] : "---";
  });
  return head + row(delimiters) + body.join("");
}

function cellMarkdown(cell: TableCell | undefined, definitions: Definitions): string {
  // One dollar is a price; two may enclose a formula.
  const escapesDollars = cellText(cell).split("$").length > 2;
  return markdownOf(cell, { definitions, escapesDollars, isLabel: false }).trim();
}

interface MarkdownPlace {
  readonly definitions: Definitions;
  readonly escapesDollars: boolean;
  /** True within the brackets of a link or an image. */
  readonly isLabel: boolean;
}

function markdownOf(node: Nodes | undefined, place: MarkdownPlace): string {
  if (node === undefined) return "";
  const { definitions } = place;
  const inner = (inside = place) =>
    "children" in node ? node.children.map((child) => markdownOf(child, inside)).join("") : "";
  const inLabel = { ...place, isLabel: true };
  switch (node.type) {
    case "text":
      return escapeText(node.value, place);
    case "strong":
      return `**${inner()}**`;
    case "emphasis":
      return `*${inner()}*`;
    case "delete":
      return `~~${inner()}~~`;
    case "inlineCode":
      return inlineCode(node.value);
    case "link":
      return linkTo(node.url, inner(inLabel));
    case "linkReference":
      return linkTo(definitions.get(node.identifier)?.url ?? "", inner(inLabel));
    case "image":
      return `!${linkTo(node.url, escapeText(node.alt ?? "", inLabel))}`;
    case "imageReference":
      return `!${linkTo(definitions.get(node.identifier)?.url ?? "", escapeText(node.alt ?? "", inLabel))}`;
    case "footnoteReference":
      return `[^${node.label ?? node.identifier}]`;
    case "break":
      return "<br>";
    default:
      // Formulas and raw HTML are kept as they were written, bars included.
      return "children" in node ? inner() : "value" in node ? node.value : "";
  }
}

/** Marks that mean something in a cell. Those between letters or digits, as in `snake_case`, mostly mean nothing. */
const MARKS = /[\\`*\]<|]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])|~(?=~)|(?<=~)~|&(?=#?\w+;)/gu;

function escapeText(text: string, { escapesDollars, isLabel }: MarkdownPlace): string {
  const escaped = text.replaceAll(MARKS, String.raw`\$&`);
  // An opening bracket means nothing without its closing one. A backslash before it would open a formula.
  const closed = isLabel ? escaped.replaceAll("[", "&#91;") : escaped;
  return escapesDollars ? closed.replaceAll("$", String.raw`\$`) : closed;
}

function inlineCode(value: string): string {
  const longest = Math.max(0, ...(value.match(/`+/gu) ?? []).map(({ length }) => length));
  const fence = "`".repeat(longest + 1);
  // One space at each side is taken off, unless there is nothing else.
  const padding = /^`|`$|^ .*[^ ].* $/u.test(value) ? " " : "";
  // In a cell, a bar has to be escaped in code as well.
  return fence + padding + value.replaceAll("|", String.raw`\|`) + padding + fence;
}

function linkTo(url: string, text: string): string {
  const target = /[\s()<>\\]/u.test(url) ? `<${url.replaceAll(/[<>\\]/gu, String.raw`\$&`)}>` : url;
  return `[${text}](${target.replaceAll("|", "%7C")})`;
}
