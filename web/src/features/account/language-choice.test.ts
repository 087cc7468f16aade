import { runInNewContext } from "node:vm";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { localeFor } from "@/lib/language";
import { languageFor } from "./language-choice";

const script = readFileSync("public/before-paint.js", "utf8");

/** Returns the language that the script of the page chooses before the first paint. */
function languageBeforePaint(stored: string | null, preferred: readonly string[]): string {
  const root = { dataset: {}, lang: "" };
  const document = { documentElement: root, currentScript: { dataset: {} }, querySelectorAll: () => [] };
  const MutationObserver = class {
    observe(): void {}
  };
  const localStorage = { getItem: (key: string) => (key === "language" ? stored : null) };
  const navigator = { languages: preferred };
  runInNewContext(script, {
    document,
    localStorage,
    navigator,
    MutationObserver,
    addEventListener: () => undefined,
  });
  return root.lang;
}

test.each([
  [["de-AT", "en"], "de"],
  [["fr", "DE", "en"], "de"],
  [["en-GB", "de"], "en"],
  [["fr-FR"], "en"],
  [["dem"], "en"],
  [[], "en"],
])("the browser's languages %j make the page %s", (preferred, expected) => {
  expect(languageFor("system", preferred)).toBe(expected);
  expect(languageBeforePaint("system", preferred)).toBe(expected);
  expect(languageBeforePaint(null, preferred)).toBe(expected);
});

test("a choice is stronger than the browser's languages", () => {
  expect(languageFor("de", ["en-US"])).toBe("de");
  expect(languageBeforePaint("de", ["en-US"])).toBe("de");
  expect(languageBeforePaint("en", ["de"])).toBe("en");
  expect(languageBeforePaint("fr", ["de"])).toBe("de");
});

test("dates and numbers are written as in the user's variety of the language", () => {
  expect(localeFor("en", ["de-DE", "en-GB", "en-US"])).toBe("en-GB");
  expect(localeFor("de", ["en-US"])).toBe("de");
});
