import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import compile from "icu-minify/compile";
import type { Plugin } from "vite";
import { firstScreenModules, isLaterText, isOperatorText, laterTextsModule } from "./text-parts.ts";

/** Prefix of the ids of modules with the compiled texts of a language. */
const prefix = "\0texts:";
const importPattern = /messages\/([a-z]+)\.json\?(first|later)$/u;

/**
 * Compiles `messages/*.json` for the browser: `en.json?first` has the texts of the first screens, `en.json?later` the
 * others; `texts` selects both. Fails the build if a first screen would need the others.
 */
export function textsPlugin(texts = { first: isFirstText, later: isLaterText }): Plugin {
  return {
    name: "texts",
    enforce: "pre",
    resolveId: {
      filter: { id: importPattern },
      handler(id) {
        const [, language, part] = importPattern.exec(id) ?? [];
        return `${prefix}${language}-${part}.js`;
      },
    },
    load: {
      filter: { id: new RegExp(`^${prefix}`, "u") },
      handler(id) {
        const [language = "", part] = basename(id.slice(prefix.length), ".js").split("-");
        // Absolute, because the development server resolves watched files like imports.
        const file = resolve(`messages/${language}.json`);
        this.addWatchFile(file);
        const isWanted = part === "later" ? texts.later : texts.first;
        return `export default ${JSON.stringify(compiledTexts(readFileSync(file, "utf8"), isWanted))};`;
      },
    },
    buildEnd(error) {
      if (error !== undefined) return;
      const queue = [...this.getModuleIds()].filter((id) =>
        firstScreenModules.some((name) => id.endsWith(name)),
      );
      const seen = new Set(queue);
      for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
        for (const imported of this.getModuleInfo(id)?.importedIds ?? []) {
          if (imported.endsWith(laterTextsModule)) {
            this.error(`${id} is loaded with the first screens, which have no texts of ${laterTextsModule}`);
          }
          if (seen.has(imported)) continue;
          seen.add(imported);
          queue.push(imported);
        }
      }
    },
    transformIndexHtml: {
      order: "post",
      handler(html, { bundle }) {
        const files = Object.values(bundle ?? {}).filter((one) => one.type === "chunk");
        const attributes = files
          .filter(
            ({ facadeModuleId }) =>
              facadeModuleId?.startsWith(prefix) && facadeModuleId.endsWith("-first.js"),
          )
          .map(({ facadeModuleId, fileName }) => {
            const language = facadeModuleId?.slice(prefix.length, -"-first.js".length);
            return ` data-${language}="/${fileName}"`;
          });
        return html.replace('src="/before-paint.js"', (script) => script + attributes.sort().join(""));
      },
    },
  };
}

function isFirstText(key: string): boolean {
  return !isLaterText(key) && !isOperatorText(key);
}

function compiledTexts(json: string, isWanted: (key: string) => boolean): Record<string, unknown> {
  const texts = Object.entries(JSON.parse(json) as Record<string, string>);
  return Object.fromEntries(
    texts.filter(([key]) => isWanted(key)).map(([key, text]) => [key, compile(text)]),
  );
}
