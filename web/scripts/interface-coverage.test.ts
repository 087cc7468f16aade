import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const rows = readFileSync(join(root, "docs/interface-coverage.md"), "utf8")
  .split("\n")
  .filter((line) => /^\| (?!Quality )/u.test(line));
const namedTests = (row: string) => [...row.matchAll(/`([^`]+?) > (.+?)`(?=,| \|$)/gu)];

test("every quality of the interface names a test that exists", () => {
  expect(rows.length).toBe(40);
  expect(rows.filter((row) => namedTests(row).length === 0)).toEqual([]);
  const missing = rows.flatMap(namedTests).filter(([, path = "", title = ""]) => {
    const source = readFileSync(join(root, path), "utf8");
    return ![`"${title}"`, `\`${title}\``].some((quoted) => source.includes(quoted));
  });
  expect(missing.map(([name]) => name)).toEqual([]);
});
