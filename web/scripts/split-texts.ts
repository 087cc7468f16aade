import { readFileSync } from "node:fs";
import type { Plugin } from "vite";

const file = "messages/en.json";
/** The first words of the names whose texts are loaded apart, as `en.json?<word>`. */
const parts = [
  "account",
  "approval",
  "apps",
  "elicitation",
  "files",
  "form",
  "history",
  "models",
  "offers",
  "permission",
  "result",
  "queue",
  "servers",
  "share",
  "steering",
  "task",
  "tools",
];
/** Prefix of the ids of modules with one group of texts. */
const prefix = "\0texts-of-";

/**
 * Splits `messages/en.json` for the browser: `en.json?form` has the texts whose names begin with `form.`, and `en.json`
 * those that are in no part. They stand in one file, and each is loaded when it is needed.
 */
export function splitTexts(): Plugin {
  return {
    name: "split-texts",
    enforce: "pre",
    resolveId: {
      filter: { id: /messages\/en\.json\?\w+$/u },
      handler: (id) => prefix + id.slice(id.indexOf("?") + 1),
    },
    load: {
      filter: { id: new RegExp(`^${prefix}`, "u") },
      handler(id) {
        this.addWatchFile(file);
        return `export default ${textsOf(id.slice(prefix.length), readFileSync(file, "utf8"))};`;
      },
    },
    transform: {
      filter: { id: /messages\/en\.json$/u },
      handler: (code) => ({ code: textsOf(undefined, code), map: null }),
    },
  };
}

/** The texts of a part, or those that are in none, as JSON. */
function textsOf(wanted: string | undefined, json: string): string {
  const texts = Object.entries(JSON.parse(json) as Record<string, string>);
  const partOf = (name: string) => parts.find((part) => name.startsWith(`${part}.`));
  return JSON.stringify(Object.fromEntries(texts.filter(([name]) => partOf(name) === wanted)));
}
