import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { preferences } from "./preferences";

const script = readFileSync("public/before-paint.js", "utf8");

/** Runs the script of the page with a stored preference and returns what it applies, then and for a later change. */
function applied(name: string, stored: string | null, changed: string | null): (string | undefined)[] {
  const dataset: Record<string, string> = {};
  const listeners: ((event: { key: string; newValue: string | null }) => void)[] = [];
  runInNewContext(script, {
    document: {
      documentElement: { dataset, lang: "" },
      currentScript: { dataset: {} },
      querySelectorAll: () => [],
    },
    MutationObserver: class {
      observe(): void {}
    },
    localStorage: { getItem: (key: string) => (key === name ? stored : null) },
    navigator: { languages: [] },
    addEventListener: (type: string, listener: (typeof listeners)[number]) => {
      if (type === "storage") listeners.push(listener);
    },
  });
  const first = dataset[name];
  for (const listener of listeners) listener({ key: name, newValue: changed });
  return [first, dataset[name]];
}

const defaults = new Set(["system", "16", "comfortable", "enter"]);

test.each(Object.entries(preferences))(
  "%s is applied before the first paint and when another tab changes it",
  (name, values) => {
    for (const value of values) {
      const expected = defaults.has(value) ? undefined : value;
      expect(applied(name, value, null)).toEqual([expected, undefined]);
      expect(applied(name, null, value)).toEqual([undefined, expected]);
    }
    expect(applied(name, "nonsense", "nonsense")).toEqual([undefined, undefined]);
  },
);
