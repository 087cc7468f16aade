import { expect, test } from "vitest";
import { stripMarkup } from "./highlighted-excerpt";

const plain = (text: string) => stripMarkup(text)(text);

test.each([
  ["## Totals It is **100**, see `total`.", "Totals It is 100, see total."],
  ["Three notes: | Note | Changed |---|:---:| `a.md` | 12 Nov |", "Three notes: Note Changed a.md 12 Nov "],
  ["```ts const a = b || c", "ts const a = b || c"],
  ["C# and issue #7 of 2 ** 3", "C# and issue #7 of 2 ** 3"],
  ["plain words - and a dash", "plain words - and a dash"],
])("%j is shown as %j", (text, shown) => expect(plain(text)).toBe(shown));

test("what is marked in a table loses its bars, too", () => {
  const clean = stripMarkup("| **Lisbon** |---| trip |");
  expect(["| **", "Lisbon", "** |---| trip |"].map(clean)).toEqual([" ", "Lisbon", " trip "]);
});
