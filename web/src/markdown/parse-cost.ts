/*
 * The parser takes time in proportion to the square of some things, and to the cube of one. The figures are microseconds
 * on a slow machine (one busy core of 2 GHz), from texts of 8 and 16 kB that repeat a short pattern.
 */

/** A character. */
const CHARACTER_COST = 1.5;
/** A line. */
const LINE_COST = 75;
/** A line that begins an item of a list. */
const ITEM_COST = 250;
/** A pair of marks of one paragraph that may belong together: the parser compares each with those before it. */
const MARK_PAIR_COST = 0.15;
/** Three marks for quotes and lists that stand behind each other at the start of one line. */
const CONTAINER_CUBE_COST = 0.001;

/** Two levels of lists around an item, as its indentation tells: each item looks at all of them, and copies them. */
const LEVEL_PAIR_COST = 0.5;

/** What may be parsed at once: the page answers nobody meanwhile. */
const MAX_COST = 200_000;

/** A row of a table; each of its cells is compared with those before. */
const CELLS = /\|/gu;
const MARKS = /[*_~[\]]/gu;
const CONTAINER_MARKS = /^[ \t]*(?:(?:>|[-+*]|\d{1,9}[.)]|\[\^[^\]\s]+\]:)[ \t]*)+/u;
const CONTAINER_MARK = />|[-+*]|\d{1,9}[.)]|\[\^[^\]\s]+\]:/gu;
/** It may underline a heading, end a table's head, or divide sections; where it stands often, each looks back. */
const RULE = /^[ \t]*(?:-+|=+)[ \t]*$/u;

const count = (text: string, pattern: RegExp): number => {
  let found = 0;
  pattern.lastIndex = 0;
  while (pattern.test(text)) found += 1;
  return found;
};

/** Whether a text is parsed fast enough to do it between two frames, whatever stands in it. */
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
    // The square of the sum, piece by piece.
    cost += MARK_PAIR_COST * found * (found + 2 * marks);
    marks += found;
  }
  return cost <= MAX_COST;
}
