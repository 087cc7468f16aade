/**
 * Measures the build against `budgets.json` and fails when something has grown too large.
 * Scripts and styles count as gzip sends them; 1 kB is 1,000 bytes.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

interface Chunk {
  name?: string;
  file: string;
  isEntry?: boolean;
  imports?: string[];
  css?: string[];
}

interface Budget {
  what: string;
  maxKb: number;
  /** Reason for a limit that has been raised. */
  why?: string;
  /** Names of the chunks that are loaded beside the page's entry, with all they import. */
  with?: string[];
}

type Budgets = Record<"auth" | "home" | "css" | "fonts" | "operator" | "dist", Budget>;

/** Size of a chunk that is loaded later, above which `largeChunks` says why. */
const largestChunkKb = 60;

const web = join(import.meta.dirname, "..");
const dist = join(web, "dist");
const { largeChunks, ...budgets } = JSON.parse(readFileSync(join(web, "budgets.json"), "utf8")) as Budgets & {
  largeChunks: Record<string, string>;
};
const manifest = new Map(
  Object.entries(
    JSON.parse(readFileSync(join(dist, ".vite/manifest.json"), "utf8")) as Record<string, Chunk>,
  ),
);
const page = readFileSync(join(dist, "index.html"), "utf8");

/** The scripts loaded for the entry and the chunks of these names, static imports included. */
function scripts(names: readonly string[]): Set<string> {
  const files = new Set<string>();
  const keyOf = (name: string): string => {
    const found = [...manifest].find(([, chunk]) => chunk.name === name);
    if (found === undefined) throw new Error(`budgets.json names ${name}, which is no chunk of the build`);
    return found[0];
  };
  const entries = [...manifest].filter(([, chunk]) => chunk.isEntry === true).map(([key]) => key);
  const queue = [...entries, ...names.map(keyOf)];
  const seen = new Set<string>();
  for (let key = queue.pop(); key !== undefined; key = queue.pop()) {
    if (seen.has(key)) continue;
    seen.add(key);
    const chunk = manifest.get(key);
    if (chunk === undefined) throw new Error(`the manifest lacks ${key}`);
    files.add(chunk.file);
    queue.push(...(chunk.imports ?? []));
  }
  return files;
}

function zippedBytes(files: Iterable<string>): number {
  return [...files].reduce(
    (sum, file) => sum + gzipSync(readFileSync(join(dist, file)), { level: 9 }).length,
    0,
  );
}

/** The texts of the first screens in the language in which they are largest; others are not loaded. */
function textBytes(): number {
  const files = [...page.matchAll(/ data-[a-z]+="\/(assets\/[^"]+\.js)"/gu)].map((match) => match[1] ?? "");
  if (files.length === 0) throw new Error("index.html names no texts");
  return Math.max(...files.map((file) => zippedBytes([file])));
}

function distFiles(): string[] {
  return readdirSync(dist, { recursive: true, encoding: "utf8" }).filter(
    // The list of the files is not shipped.
    (name) => !name.startsWith(".vite") && statSync(join(dist, name)).isFile(),
  );
}

const all = distFiles();
/** Scripts and styles of the operator's page, which is a bundle of its own. */
const operatorFiles = all.filter((name) => /^assets\/operator-.*\.(?:js|css)$/u.test(name));
if (operatorFiles.length === 0) throw new Error("The operator's page is not built.");
const preloaded = [...page.matchAll(/href="\/(assets\/[^"]+\.woff2)"/gu)].map((match) => match[1] ?? "");
const measured: Record<keyof Budgets, number> = {
  auth: zippedBytes([...scripts(budgets.auth.with ?? []), "before-paint.js"]) + textBytes(),
  home: zippedBytes([...scripts(budgets.home.with ?? []), "before-paint.js"]) + textBytes(),
  css: zippedBytes(all.filter((name) => name.endsWith(".css") && !operatorFiles.includes(name))),
  fonts: preloaded.reduce((sum, name) => sum + statSync(join(dist, name)).size, 0),
  operator: zippedBytes(operatorFiles),
  dist: all.reduce((sum, name) => sum + statSync(join(dist, name)).size, 0),
};

let failures = 0;
for (const [name, budget] of Object.entries(budgets)) {
  const kb = measured[name as keyof Budgets] / 1_000;
  const within = kb <= budget.maxKb;
  if (!within) failures++;
  console.log(
    `${within ? "ok  " : "OVER"} ${kb.toFixed(1).padStart(7)} of ${budget.maxKb} kB  ${budget.what}`,
  );
}
const first = scripts(budgets.home.with ?? []);
for (const chunk of manifest.values()) {
  const { name = chunk.file, file } = chunk;
  if (!file.endsWith(".js") || first.has(file) || name in largeChunks) continue;
  const kb = zippedBytes([file]) / 1_000;
  if (kb <= largestChunkKb) continue;
  failures++;
  console.log(
    `OVER ${kb.toFixed(1).padStart(7)} of ${largestChunkKb} kB  ${name}, without a reason in budgets.json`,
  );
}
if (preloaded.length === 0) throw new Error("no font is preloaded in index.html");
process.exitCode = failures === 0 ? 0 : 1;
