import { readFileSync } from "node:fs";
import type { Plugin } from "vite";

const file = "messages/en.json";
/** The id of the module that has the texts about the account. */
const account = "\0texts-about-the-account";

/**
 * Splits `messages/en.json` in two for the browser: `en.json?account` has the texts whose names begin with `account.`, and
 * `en.json` all others. They stand in one file, and each is loaded when it is needed.
 */
export function splitTexts(): Plugin {
  return {
    name: "split-texts",
    enforce: "pre",
    resolveId: {
      filter: { id: /messages\/en\.json\?account$/u },
      handler: () => account,
    },
    load: {
      filter: { id: new RegExp(account, "u") },
      handler() {
        this.addWatchFile(file);
        return `export default ${part(readFileSync(file, "utf8"), true)};`;
      },
    },
    transform: {
      filter: { id: /messages\/en\.json$/u },
      handler: (code) => ({ code: part(code, false), map: null }),
    },
  };
}

/** The texts about the account, or all others, as JSON. */
function part(json: string, aboutAccount: boolean): string {
  const texts = Object.entries(JSON.parse(json) as Record<string, string>);
  return JSON.stringify(
    Object.fromEntries(texts.filter(([name]) => name.startsWith("account.") === aboutAccount)),
  );
}
