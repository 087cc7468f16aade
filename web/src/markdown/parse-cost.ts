/*
 * The parser takes time in proportion to the square of some things, and to the cube of one. The figures are microseconds
 * on a slow machine (one busy core of 2 GHz), from texts of 8 and 16 kB that repeat a short pattern.
 */

/** Per character. */
const CHARACTER_COST = 1.5;
/** Per line. */
const LINE_COST = 75;
/** Per line that starts a list item. */
const ITEM_COST = 250;
/** Per pair of marks in a paragraph that may match: the parser compares each mark with those before. */
const MARK_PAIR_COST = 0.15;
/** Per three container marks (quotes and lists) at the start of one line. */
const CONTAINER_CUBE_COST = 0.001;

/** Per two levels of lists around an item, judged by its indentation: the parser copies all levels for each item. */
const LEVEL_PAIR_COST = 0.5;

/** Cost up to which a text is parsed on the main thread, which blocks the page. */
const MAX_COST = 200_000;

/** Table row; each of its cells is compared with those before. */
const CELLS = /\|/gu;
const MARKS = /[*_~[\]]/gu;
const CONTAINER_MARKS = /^[ \t]*(?:(?:>|[-+*]|\d{1,9}[.)]|\[\^[^\]\s]+\]:)[ \t]*)+/u;
const CONTAINER_MARK = />|[-+*]|\d{1,9}[.)]|\[\^[^\]\s]+\]:/gu;
/** Possible heading underline, table delimiter or thematic break; if there are many, each looks back. */
const RULE = /^[ \t]*(?:-+|=+)[ \t]*$/u;

const count = (text: string, pattern: RegExp): number => {
  let found = 0;
  pattern.lastIndex = 0;
  while (pattern.test(text)) found += 1;
  return found;
};

/** Returns true if any text of this shape is parsed within a frame. */
export function isCheapToParse(text: string): boolean {
  let cost = text.length * CHARACTER_COST;
  let marks = 0;
  let start = 0;
  while (start <= text.length && cost <= MAX_COST) {
    const newline = text.indexOf("\n", start);
    const end = newline < 0 ? text.length : newline;
    const line = text.slice(start, end);
    start = end + 1;
    if (line.trim() === "") {
      marks = 0;
      continue;
    }
    const containers = count(CONTAINER_MARKS.exec(line)?.[0] ?? "", CONTAINER_MARK);
    const found = count(line, MARKS) + (RULE.test(line) ? 4 : 0);
    cost += LINE_COST + (containers > 0 ? ITEM_COST : 0) + CONTAINER_CUBE_COST * containers ** 3;
    if (containers > 0) cost += LEVEL_PAIR_COST * (line.search(/[^ \t]/u) / 2) ** 2;
    cost += MARK_PAIR_COST * count(line, CELLS) ** 2;
    // The square of the sum, accumulated.
    cost += MARK_PAIR_COST * found * (found + 2 * marks);
    marks += found;
  }
  return cost <= MAX_COST;
}
