import fontUrl from "@fontsource-variable/geist/files/geist-latin-wght-normal.woff2?url";
import rendererUrl from "virtual:diagram-renderer";
import { loadWithRetries } from "@/lib/lazy-part";
import type { DiagramColors, DiagramRequest } from "./messages";

/** Script and font of diagrams, as text: the sandbox can load nothing. */
interface DiagramParts {
  readonly script: string;
  /** Data URL of the font. */
  readonly font: string;
}

let parts: Promise<DiagramParts> | undefined;

/**
 * Loads the parts of diagrams once.
 * @throws the error of the network
 */
export function loadDiagramParts(): Promise<DiagramParts> {
  parts ??= Promise.all([loadWithRetries(loadScript), loadWithRetries(loadFont)]).then(
    ([script, font]) => ({ script, font }),
    (error: unknown) => {
      // The next diagram tries again.
      parts = undefined;
      throw error;
    },
  );
  return parts;
}

async function loadScript(): Promise<string> {
  const { ok, status, body } = await fetch(rendererUrl);
  if (!ok || !body) throw new Error(`the script of diagrams could not be loaded: ${status}`);
  return new Response(body.pipeThrough(new DecompressionStream("gzip"))).text();
}

async function loadFont(): Promise<string> {
  const bytes = new Uint8Array(await (await fetch(fontUrl)).arrayBuffer());
  return `data:font/woff2;base64,${btoa(Array.from(bytes, (byte) => String.fromCodePoint(byte)).join(""))}`;
}

/** Makes a dark drawing a light one on paper. The ground is not a part of what is turned around. */
const PRINT_LIGHT =
  "@media print { html { background: #fff !important } svg { filter: invert(1) hue-rotate(180deg) } }";

/** Returns the page that draws a diagram in the sandbox. */
export function diagramPage(request: DiagramRequest, { script, font }: DiagramParts): string {
  const { isDark, colors } = request;
  // JSON in a page must not end its element.
  const json = JSON.stringify(request).replaceAll("<", String.raw`\u003c`);
  return `<!doctype html><meta charset="utf-8"><style>
@font-face { font-family: "Geist Variable"; font-weight: 100 900; src: url(${font}) format("woff2") }
html { color-scheme: ${isDark ? "dark" : "light"}; background: ${colors.paper}; print-color-adjust: exact }
html, body { height: 100%; margin: 0 }
#diagram { box-sizing: border-box; height: 100%; padding: 16px; overflow: auto; scrollbar-width: thin }
#diagram:focus-visible { outline: 2px solid ${colors.accent}; outline-offset: -2px }
svg { display: block; margin: auto }
${isDark ? PRINT_LIGHT : ""}
</style><div id="diagram" role="group" tabindex="0"></div>
<script type="application/json" id="request">${json}</script>
<script>
// Frames of a frame that is scrolled out of sight are paused, and Mermaid measures in them.
window.requestAnimationFrame = (callback) => setTimeout(() => callback(performance.now()));
</script>
<script>${script}</script>`;
}

/** Returns the colours of the page's theme. */
export function diagramColors(): DiagramColors {
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const color = (token: string): string => {
    probe.style.color = `var(--${token})`;
    if (!context) return "#808080";
    context.fillStyle = getComputedStyle(probe).color;
    context.fillRect(0, 0, 1, 1);
    const rgb = [...context.getImageData(0, 0, 1, 1).data.subarray(0, 3)];
    return `#${rgb.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
  };
  const colors = {
    paper: color("paper"),
    surface: color("surface"),
    sunken: color("sunken"),
    line: color("line-strong"),
    ink: color("ink"),
    ink2: color("ink-2"),
    accent: color("accent"),
    accentSoft: color("accent-soft"),
    warnSoft: color("warn-soft"),
    warn: color("warn"),
    err: color("err"),
    series: [1, 2, 3, 4, 5, 6].map((index) => color(`chart-${index}`)),
  };
  probe.remove();
  return colors;
}
