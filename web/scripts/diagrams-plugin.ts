import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, type Plugin } from "vite";

const moduleId = "virtual:diagram-renderer";
const resolvedId = `\0${moduleId}`;
const devPath = "/diagram-renderer.bin";
const root = fileURLToPath(new URL("..", import.meta.url));

/** Modules of Mermaid that draw the diagrams that models write. Others would make the script half as large again. */
const drawnDiagrams = new Set([
  "classDiagram",
  "classDiagram-v2",
  "erDiagram",
  "flowDiagram",
  "ganttDiagram",
  "gitGraphDiagram",
  "journeyDiagram",
  "mindmap-definition",
  "pieDiagram",
  "quadrantDiagram",
  "sequenceDiagram",
  "stateDiagram",
  "stateDiagram-v2",
  "timeline-definition",
  "xychartDiagram",
]);
const lazyModule = /^\.\/(?:chunks\/mermaid\.core\/)?([a-z\d-]+)-[A-Z\d]{8}\.mjs$/iu;
const leftOut = "\0left-out";

/**
 * Provides `virtual:diagram-renderer`, the URL of the script that draws diagrams in the sandbox: one script, because the
 * sandbox can load nothing, compressed once by gzip for the page to unpack.
 */
export function diagramsPlugin(): Plugin {
  let isBuild = false;
  let script: Promise<Buffer> | undefined;
  const compressed = () => (script ??= buildRenderer());
  return {
    name: "diagrams",
    configResolved(config) {
      isBuild = config.command === "build";
    },
    resolveId: { filter: { id: new RegExp(`^${moduleId}$`, "u") }, handler: () => resolvedId },
    load: {
      filter: { id: new RegExp(`^${resolvedId}$`, "u") },
      async handler() {
        if (!isBuild) return `export default ${JSON.stringify(devPath)};`;
        const source = await compressed();
        const file = this.emitFile({ type: "asset", name: "diagram-renderer.bin", source });
        return `export default import.meta.ROLLUP_FILE_URL_${file};`;
      },
    },
    configureServer({ middlewares }) {
      middlewares.use(devPath, (_request, response, next) => {
        compressed().then((bytes) => response.end(bytes), next);
      });
    },
  };
}

/** Returns the script of `renderer.ts` with the diagrams of {@link drawnDiagrams}, compressed. */
async function buildRenderer(): Promise<Buffer> {
  const built = await build({
    root,
    configFile: false,
    publicDir: false,
    logLevel: "error",
    plugins: [withoutRareDiagrams],
    build: {
      write: false,
      modulePreload: false,
      target: ["chrome131", "edge131", "firefox132", "safari18.1"],
      rolldownOptions: {
        input: `${root}src/components/diagram/renderer.ts`,
        output: { format: "iife", codeSplitting: false },
        checks: { emptyImportMeta: false },
      },
    },
  });
  const [result] = Array.isArray(built) ? built : [built];
  if (!result || !("output" in result)) throw new Error("The script of diagrams was not built.");
  const [{ code }] = result.output;
  // The script becomes part of a page, where these would end it or begin a comment.
  return gzipSync(code.replaceAll(/<(?=\/script|!--)/giu, String.raw`\x3c`), { level: 9 });
}

/** Leaves out other diagrams, formulas, and a layout that alone would need a library of 400 kB. */
const withoutRareDiagrams: Plugin = {
  name: "without-rare-diagrams",
  enforce: "pre",
  resolveId(source, importer) {
    if (!importer?.includes("/mermaid/dist/")) return null;
    if (source === "katex") return leftOut;
    const [, name = ""] = lazyModule.exec(source) ?? [];
    if (name === "cose-bilkent") return layoutOfFlowCharts(dirname(importer));
    const isDiagram = /Diagram(?:-v2)?$|-definition$|^diagram$|^swimlanes$/u.test(name);
    return isDiagram && !drawnDiagrams.has(name) ? leftOut : null;
  },
  load: {
    filter: { id: new RegExp(`^${leftOut}$`, "u") },
    handler: () =>
      `throw new Error("UnsupportedDiagram");\nexport const diagram = undefined, render = undefined;`,
  },
};

/** Returns the module that lays out flow charts, and mind maps instead of their own. */
function layoutOfFlowCharts(folder: string): string {
  const file = readdirSync(folder).find((name) => /^dagre-[A-Z\d]{8}\.mjs$/u.test(name));
  if (file === undefined) throw new Error("Mermaid has no layout of flow charts.");
  return join(folder, file);
}
