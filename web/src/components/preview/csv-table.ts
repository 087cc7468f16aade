import type { Table, TableRow } from "mdast";

/** Cells that are shown; as in tables of answers. */
const MAX_CELLS = 5_000;
const MAX_COLUMNS = 64;

/** Table of a CSV text, cut to what is shown. */
export interface CsvTable {
  readonly table: Table;
  /** Number of rows below the head that are shown, if there are more. */
  readonly shownRows: number | undefined;
}

/** Returns CSV (RFC 4180) as a table. The delimiter is the most frequent one of the first line. */
export function csvTable(text: string): CsvTable {
  const rows = readCsv(text, delimiterOf(text));
  const columns = Math.min(MAX_COLUMNS, Math.max(1, ...rows.map(({ length }) => length)));
  const maxRows = Math.floor(MAX_CELLS / columns);
  const shown = rows.slice(0, maxRows).map((row) => row.slice(0, columns));
  const numbers = Array.from({ length: columns }, (_, column) =>
    shown.slice(1).every((row) => /^-?[\d.,\s]*$/u.test(row[column] ?? "")),
  );
  return {
    table: {
      type: "table",
      align: numbers.map((isNumber) => (isNumber && shown.length > 1 ? "right" : null)),
      children: shown.map((row) => tableRow(row, columns)),
    },
    shownRows: rows.length > maxRows ? maxRows - 1 : undefined,
  };
}

function tableRow(row: readonly string[], columns: number): TableRow {
  return {
    type: "tableRow",
    children: Array.from({ length: columns }, (_, column) => ({
      type: "tableCell",
      children: [{ type: "text", value: row[column] ?? "" }],
    })),
  };
}

function delimiterOf(text: string): string {
  const [first = ""] = text.split("\n", 1);
  const count = (mark: string) => first.split(mark).length;
  return [",", ";", "\t"].reduce((best, mark) => (count(mark) > count(best) ? mark : best));
}

/** Reads rows until there are more cells than are shown. */
function readCsv(text: string, delimiter: string): string[][] {
  const rows: string[][] = [[]];
  let cells = 0;
  let at = 0;
  while (at < text.length && cells <= MAX_CELLS + 1) {
    let cell = "";
    if (text[at] === '"') {
      const quoted = /"((?:[^"]|"")*)(?:"|$)/uy;
      quoted.lastIndex = at;
      cell = (quoted.exec(text)?.[1] ?? "").replaceAll('""', '"');
      at = quoted.lastIndex;
    }
    const end = nextEnd(text, at, delimiter);
    rows.at(-1)?.push(cell + text.slice(at, end).replace(/\r$/u, ""));
    cells += 1;
    at = end + 1;
    if (text[end] === "\n" && at < text.length) rows.push([]);
  }
  return rows;
}

function nextEnd(text: string, from: number, delimiter: string): number {
  let end = from;
  while (end < text.length && text[end] !== delimiter && text[end] !== "\n") end += 1;
  return end;
}
