import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const web = join(import.meta.dirname, "..");

test("the linter knows every feature that others must not import", () => {
  const rules = readFileSync(join(web, ".oxlintrc.json"), "utf8");
  const features = readdirSync(join(web, "src/features"));
  expect(features.filter((feature) => !rules.includes(`"**/../${feature}/**"`))).toEqual([]);
});
