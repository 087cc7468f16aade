/**
 * Minifies the script that runs before the first paint, and writes `.br` and `.gz` beside every text asset of the build,
 * so that the server sends them as they are.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { minifySync } from "vite";

const dist = join(import.meta.dirname, "../dist");
const text = /\.(?:js|css|svg|json|txt|webmanifest)$/u;
/** Below this, the headers weigh more than what is saved. */
const smallestBytes = 256;

// Vite copies what is in `public` as it is.
const beforePaint = join(dist, "before-paint.js");
writeFileSync(beforePaint, minifySync("before-paint.js", readFileSync(beforePaint, "utf8")).code);

const files = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((name) => text.test(name));
for (const name of files) {
  const path = join(dist, name);
  const bytes = readFileSync(path);
  if (bytes.length < smallestBytes || name.startsWith(".vite")) continue;
  const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: quality }));
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
}
