/**
 * Builds the service worker, `sw.js`, with the names of the files that it stores. It is a build of its own because those
 * names are known only after the build of the page.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";

interface Chunk {
  name?: string;
  file: string;
  isEntry?: boolean;
  imports?: string[];
  css?: string[];
}

/** Chunks that are loaded beside the page's entry until a chat can be read and written. */
const SHELL_CHUNKS = ["home", "toasts", "chat-later", "chat-menus"];

const web = join(import.meta.dirname, "..");
const dist = join(web, "dist");
const manifest = JSON.parse(readFileSync(join(dist, ".vite/manifest.json"), "utf8")) as Record<string, Chunk>;
const page = readFileSync(join(dist, "index.html"), "utf8");

/** Returns the files of the shell, the page's entry first. */
function shellAssets(): string[] {
  const files = new Set<string>();
  const add = (chunk: Chunk | undefined): void => {
    if (chunk === undefined || files.has(chunk.file)) return;
    files.add(chunk.file);
    for (const style of chunk.css ?? []) files.add(style);
    for (const key of chunk.imports ?? []) add(manifest[key]);
  };
  const chunks = Object.values(manifest);
  for (const chunk of chunks.filter(({ isEntry }) => isEntry === true)) add(chunk);
  for (const name of SHELL_CHUNKS) {
    const chunk = chunks.find((one) => one.name === name);
    if (chunk === undefined) throw new Error(`There is no chunk ${name} for the service worker.`);
    add(chunk);
  }
  // Files that the page names itself, such as the font and the style sheet, and the texts of both languages.
  for (const [, file = ""] of page.matchAll(/"\/(assets\/[^"]+)"/gu)) files.add(file);
  for (const file of readdirSync(join(dist, "assets")))
    if (/^_texts_.*\.js$/u.test(file)) files.add(`assets/${file}`);
  return [...files].map((file) => `/${file}`);
}

const assets = shellAssets();
const version = createHash("sha256").update(page).update(assets.join("\n")).digest("hex").slice(0, 12);

await build({
  root: web,
  configFile: false,
  publicDir: false,
  logLevel: "warn",
  define: { SHELL_ASSETS: JSON.stringify(assets), SHELL_VERSION: JSON.stringify(version) },
  build: {
    emptyOutDir: false,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: join(web, "src/service-worker.ts"),
      output: { format: "iife", entryFileNames: "sw.js" },
    },
  },
});
