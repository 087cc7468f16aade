import type { Table } from "mdast";
import { pageLocale } from "@/lib/language";
import { cellText } from "./table-text";

/** Column by which a table is sorted. */
export interface TableSort {
  readonly column: number;
  readonly direction: "ascending" | "descending";
}

/** Returns the sort after a click on a column's head: ascending, then descending, then none. */
export function nextSort(sort: TableSort | undefined, column: number): TableSort | undefined {
  if (sort?.column !== column) return { column, direction: "ascending" };
  return sort.direction === "ascending" ? { column, direction: "descending" } : undefined;
}

/** Returns the indices of a table's rows without its head, sorted. Equal ones keep their order, empty cells come last. */
export function sortedRows(table: Table, { column, direction }: TableSort): number[] {
  const texts = table.children.slice(1).map(({ children }) => cellText(children[column]).trim());
  const compare = comparison(texts);
  const sign = direction === "ascending" ? 1 : -1;
  const isEmpty = texts.map((text) => EMPTY.test(text));
  return [...texts.keys()].sort(
    (a, b) => Number(isEmpty[a]) - Number(isEmpty[b]) || (isEmpty[a] ? 0 : sign * compare(a, b)) || a - b,
  );
}

/** Cells that say that there is no value. */
const EMPTY = /^(?:[-–—]|n\/a)?$/iu;

/** Compares two rows by the numbers of the column if all of its cells are numbers of one unit, else by its texts. */
function comparison(texts: readonly string[]): (a: number, b: number) => number {
  const numbers = columnNumbers(texts);
  if (numbers) return (a, b) => (numbers[a] ?? 0) - (numbers[b] ?? 0);
  // Within texts, numbers count as numbers, too: "Item 9" comes before "Item 10".
  const collator = new Intl.Collator(pageLocale(), { numeric: true });
  return (a, b) => collator.compare(texts[a] ?? "", texts[b] ?? "");
}

/** A number with its sign, currency and unit. Spaces and apostrophes separate groups of digits as well. */
const NUMBER =
  /^[≈~]?\s*(?<sign>[-+−]?)\s*(?<currency>\p{Sc}?)\s*(?<late>[-−]?)(?<digits>\d+(?:[.,]\d+|[\u0020\u00a0\u202f’']\d{3}(?!\d))*|[.,]\d+)(?<power>e[-+]?\d+)?(?<unit>[^\d]*)$/iu;
const SPACES = /[\u0020\u00a0\u202f’']/gu;

/** Returns the numbers of a column, 0 for empty cells, or undefined if not all cells are numbers of one unit. */
export function columnNumbers(texts: readonly string[]): number[] | undefined {
  const cells = texts.map((text) => (EMPTY.test(text) ? null : NUMBER.exec(text)?.groups));
  const filled = cells.filter((cell) => cell !== null);
  if (filled.length === 0 || filled.includes(undefined)) return undefined;
  const units = new Set(filled.map((cell) => `${cell?.["currency"]} ${cell?.["unit"]?.trim()}`));
  if (units.size > 1) return undefined;
  const decimal = decimalSeparator(filled.map((cell) => cell?.["digits"] ?? ""));
  const numbers = cells.map((cell) => (cell ? numberOf(cell, decimal) : 0));
  return numbers.some(Number.isNaN) ? undefined : numbers;
}

/** Whole groups of digits as in 12,345 or 1,00,000, or none, and decimals. Dates and versions have other groups. */
const WELL_FORMED = /^(?:\d*|\d{1,3}(?:,\d{2,3})*,\d{3})(?:\.\d+)?$/u;

/** Returns the value of a number, NaN if its separators separate no groups. */
function numberOf(cell: Readonly<Record<string, string>>, decimal: "." | ","): number {
  const { sign = "", late = "", digits = "", power = "" } = cell;
  const joined = digits.replaceAll(SPACES, "");
  const english =
    decimal === "." ? joined : joined.replaceAll(/[.,]/gu, (mark) => (mark === "." ? "," : "."));
  if (!WELL_FORMED.test(english)) return Number.NaN;
  const value = Number(english.replaceAll(",", "") + power);
  return /[-−]/u.test(sign + late) ? -value : value;
}

/** Digits in which a separator can only be the decimal one, because what follows or precedes it is no group. */
const NO_GROUP = /^(?:0|\d{4,}|)[.,]\d|[.,]\d{1,2}(?:$|\D)|[.,]\d{4,}/u;

/** Returns the decimal separator of a column. What fits both, such as 1,234, is read as the page's language does. */
function decimalSeparator(column: readonly string[]): "." | "," {
  for (const digits of column) {
    const separators = digits.match(/[.,]/gu) ?? [];
    const [first, last] = [separators[0], separators.at(-1)];
    if (first !== last) return last === "," ? "," : ".";
    // Several of one kind separate groups.
    if (separators.length > 1) return first === "," ? "." : ",";
    if (separators.length === 1 && NO_GROUP.test(digits)) return first === "," ? "," : ".";
  }
  const parts = new Intl.NumberFormat(pageLocale()).formatToParts(0.5);
  return parts.some(({ type, value }) => type === "decimal" && value === ",") ? "," : ".";
}
