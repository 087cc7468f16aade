/**
 * Checks the texts in `messages/`: every language has the same keys with the same parameters and all plural forms, every
 * key is used, and no component has texts of its own. With `--write` it renews `src/lib/text-params.ts`, the parameters
 * for the compiler.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { codeTexts, unusedKeys } from "./component-texts.ts";
import { compareTexts, paramsOf, repeatedKeys, type Params } from "./text-params.ts";

const web = join(import.meta.dirname, "..");
const paramsFile = join(web, "src/lib/text-params.ts");

function main(): void {
  const findings: string[] = [];
  const catalogues = new Map<string, Record<string, string>>();
  for (const file of readdirSync(join(web, "messages"))) {
    const json = readFileSync(join(web, "messages", file), "utf8");
    catalogues.set(file, JSON.parse(json) as Record<string, string>);
    findings.push(...repeatedKeys(json).map((key) => `messages/${file}: ${key} is there twice`));
  }
  const english = catalogues.get("en.json") ?? {};
  for (const [file, texts] of catalogues) {
    const language = file.replace(".json", "");
    findings.push(...compareTexts(english, texts, language).map((finding) => `messages/${file}: ${finding}`));
  }
  const params = paramsModule(english);
  if (process.argv.includes("--write")) writeFileSync(paramsFile, params);
  else if (readFileSync(paramsFile, "utf8") !== params)
    findings.push("src/lib/text-params.ts does not match messages/en.json: run `npm run texts`");

  const sources = readdirSync(join(web, "src"), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/u.test(name) && !/\.test\.tsx?$/u.test(name))
    .map((name) => ({ name: `src/${name}`, code: readFileSync(join(web, "src", name), "utf8") }));
  findings.push(...sources.flatMap(({ name, code }) => codeTexts(name, code)));
  const code = sources.filter(({ name }) => name !== "src/lib/text-params.ts").map((source) => source.code);
  findings.push(
    ...unusedKeys(Object.keys(english), code).map((key) => `messages/en.json: ${key} is not used`),
  );

  for (const finding of findings) console.error(finding);
  process.exitCode = findings.length === 0 ? 0 : 1;
}

/** Returns the module with the types of the parameters of all texts. */
function paramsModule(texts: Readonly<Record<string, string>>): string {
  const all = Object.entries(texts).map(([key, text]) => [key, paramsOf(text)] as const);
  const isRich = (params: Params) => [...params.values()].includes("tag");
  const rows = (wanted: boolean) =>
    all
      .filter(([, params]) => params.size > 0 && isRich(params) === wanted)
      .map(([key, params]) => `  ${JSON.stringify(key)}: { ${typesOf(params)} };\n`)
      .join("");
  return [
    "// Made from messages/en.json by `npm run texts`.\n",
    'import type { ReactNode } from "react";\n\n',
    "/** Parameters of the texts that have some. */\n",
    `export interface TextParams {\n${rows(false)}}\n\n`,
    "/** Parameters of the texts with tags, which render what is between the tags. */\n",
    `export interface RichTextParams {\n${rows(true)}}\n`,
  ].join("");
}

const types = { string: "string", number: "number", date: "Date", tag: "(children: ReactNode) => ReactNode" };

function typesOf(params: Params): string {
  return [...params].map(([name, kind]) => `${name}: ${types[kind]}`).join("; ");
}

main();
