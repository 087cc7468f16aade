/*
 * Draws a diagram in the sandbox. `scripts/diagrams-plugin.ts` makes one script of this module; the page puts it into
 * the sandbox together with a request (`diagram-page.ts`).
 */
import mermaid from "mermaid";
import {
  type DiagramCommand,
  type DiagramColors,
  type DiagramEvent,
  type DiagramRequest,
  MAX_SOURCE_LENGTH,
} from "./messages";

const PADDING_PX = 16;
/** A wide diagram is not made smaller than this; it scrolls instead. */
const MIN_SCALE = 0.65;
const ZOOM_STEP = 1.25;
const MAX_ZOOM_STEPS = 6;
/** Pixels of an image per CSS pixel, and the longest side of an image. */
const PNG_SCALE = 2;
const MAX_PNG_PX = 8_000;

const FONT = '"Geist Variable", ui-sans-serif, system-ui, sans-serif';

const request = JSON.parse(document.querySelector("#request")?.textContent ?? "") as DiagramRequest;

function send(event: DiagramEvent): void {
  // The frame around this one has no origin that could be named.
  parent.postMessage(event, "*");
}

/** Returns the colours under the names of Mermaid, which derives the others. */
function themeVariables(colors: DiagramColors, isDark: boolean): Record<string, unknown> {
  const { paper, surface, sunken, line, ink, ink2, accent, accentSoft, warnSoft, warn, err, series } = colors;
  const variables: Record<string, unknown> = {
    darkMode: isDark,
    background: paper,
    fontFamily: FONT,
    fontSize: "14px",
    primaryColor: accentSoft,
    primaryTextColor: ink,
    primaryBorderColor: accent,
    secondaryColor: sunken,
    secondaryTextColor: ink,
    secondaryBorderColor: line,
    tertiaryColor: surface,
    tertiaryTextColor: ink,
    tertiaryBorderColor: line,
    lineColor: ink2,
    textColor: ink,
    titleColor: ink,
    mainBkg: accentSoft,
    nodeBorder: accent,
    nodeTextColor: ink,
    clusterBkg: sunken,
    clusterBorder: line,
    edgeLabelBackground: paper,
    noteBkgColor: warnSoft,
    noteBorderColor: warn,
    noteTextColor: ink,
    actorBkg: accentSoft,
    actorBorder: accent,
    actorTextColor: ink,
    actorLineColor: line,
    signalColor: ink2,
    signalTextColor: ink,
    labelBoxBkgColor: sunken,
    labelBoxBorderColor: line,
    labelTextColor: ink,
    loopTextColor: ink,
    activationBkgColor: sunken,
    activationBorderColor: ink2,
    sequenceNumberColor: paper,
    sectionBkgColor: sunken,
    altSectionBkgColor: paper,
    sectionBkgColor2: sunken,
    gridColor: line,
    taskBkgColor: accentSoft,
    taskBorderColor: accent,
    taskTextColor: ink,
    taskTextDarkColor: ink,
    taskTextLightColor: ink,
    taskTextOutsideColor: ink,
    activeTaskBkgColor: warnSoft,
    activeTaskBorderColor: warn,
    doneTaskBkgColor: sunken,
    doneTaskBorderColor: ink2,
    critBkgColor: surface,
    critBorderColor: err,
    todayLineColor: err,
    errorBkgColor: sunken,
    errorTextColor: ink,
    attributeBackgroundColorOdd: surface,
    attributeBackgroundColorEven: sunken,
    pieTitleTextColor: ink,
    pieSectionTextColor: ink,
    pieLegendTextColor: ink,
    pieStrokeColor: paper,
    pieOuterStrokeColor: line,
    pieOpacity: "1",
    quadrant1Fill: accentSoft,
    quadrant2Fill: sunken,
    quadrant3Fill: surface,
    quadrant4Fill: sunken,
    quadrantPointFill: accent,
    quadrantPointTextFill: ink,
    quadrantInternalBorderStrokeFill: line,
    quadrantExternalBorderStrokeFill: line,
    faceColor: warnSoft,
    xyChart: {
      backgroundColor: paper,
      titleColor: ink,
      xAxisLabelColor: ink2,
      xAxisTitleColor: ink,
      xAxisTickColor: line,
      xAxisLineColor: line,
      yAxisLabelColor: ink2,
      yAxisTitleColor: ink,
      yAxisTickColor: line,
      yAxisLineColor: line,
      plotColorPalette: series.join(","),
    },
  };
  for (let index = 0; index < 12; index += 1) {
    const color = series[index % series.length] ?? accent;
    // Words stand on these, so they are as pale as the others.
    variables[`pie${index + 1}`] = mixed(color, paper, 0.55);
    variables[`cScale${index}`] = mixed(color, paper, 0.25);
    variables[`cScaleLabel${index}`] = ink;
    variables[`cScaleInv${index}`] = ink;
    variables[`actor${index}`] = color;
    if (index < 8) {
      variables[`git${index}`] = color;
      variables[`gitBranchLabel${index}`] = paper;
      variables[`fillType${index}`] = index % 2 === 0 ? accentSoft : sunken;
    }
  }
  return { ...variables, commitLabelColor: ink, commitLabelBackground: sunken, tagLabelColor: ink };
}

/** Returns a mixture of two colours, with so much of the first. */
function mixed(first: string, second: string, share: number): string {
  const channel = (color: string, at: number) => Number.parseInt(color.slice(at, at + 2), 16);
  const parts = [1, 3, 5].map((at) =>
    Math.round(channel(first, at) * share + channel(second, at) * (1 - share)),
  );
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** Returns rules for what has no variable in Mermaid, or looks wrong without HTML in labels. */
function themeCss({ line, ink2 }: DiagramColors): string {
  return `.mindmap-node:has(circle) text { text-anchor: middle }
.lineWrapper line { stroke: ${ink2} !important }
marker[id$="arrowhead"] path { fill: ${ink2} }
.grid .tick line { stroke: ${line} }`;
}

/** Returns the size of a drawn diagram, in CSS pixels. */
function naturalSize(svg: SVGSVGElement): { width: number; height: number } {
  const { width, height } = svg.viewBox.baseVal;
  return { width: Math.max(1, width), height: Math.max(1, height) };
}

/** Fits the diagram into the frame, follows the zoom, and reports the height. */
function keepFitting(box: HTMLElement, svg: SVGSVGElement): (step: number) => void {
  const natural = naturalSize(svg);
  let steps = 0;
  svg.removeAttribute("height");
  svg.style.maxWidth = "none";
  const fit = () => {
    const room = document.documentElement.clientWidth - 2 * PADDING_PX;
    const scale = Math.min(1, Math.max(MIN_SCALE, room / natural.width)) * ZOOM_STEP ** steps;
    svg.style.width = `${natural.width * scale}px`;
    svg.style.height = `${natural.height * scale}px`;
    const scrollbar = natural.width * scale > room + 1 ? box.offsetHeight - box.clientHeight : 0;
    send({
      method: "diagram/resized",
      params: { height: Math.ceil(natural.height * scale) + 2 * PADDING_PX + scrollbar },
    });
  };
  addEventListener("resize", fit);
  fit();
  return (step) => {
    steps = Math.max(-MAX_ZOOM_STEPS, Math.min(MAX_ZOOM_STEPS, steps + step));
    fit();
  };
}

/** Draws the diagram as an image, on the ground of the page. */
async function drawPng(svg: SVGSVGElement, background: string): Promise<void> {
  const { width, height } = naturalSize(svg);
  const scale = Math.min(PNG_SCALE, MAX_PNG_PX / Math.max(width, height));
  const copy = svg.cloneNode(true) as SVGSVGElement;
  copy.removeAttribute("style");
  copy.setAttribute("width", `${width * scale}`);
  copy.setAttribute("height", `${height * scale}`);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(width * scale);
  canvas.height = Math.ceil(height * scale);
  const context = canvas.getContext("2d");
  if (!context) return;
  context.fillStyle = background;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0);
  canvas.toBlob((blob) => blob && send({ method: "diagram/png", params: { image: blob } }));
}

/** Makes plain shapes of links. The sandbox opens no page, so a link would put the browser's error in place of the diagram. */
function removeLinks(svg: SVGSVGElement): void {
  for (const link of svg.querySelectorAll("a")) link.replaceWith(...link.childNodes);
  for (const shape of svg.querySelectorAll(".clickable")) shape.classList.remove("clickable");
}

async function draw({ source, label, isDark, colors }: DiagramRequest): Promise<void> {
  const box = document.querySelector<HTMLElement>("#diagram");
  if (!box) return;
  // Labels are measured, so their font has to be there.
  await document.fonts.load(`14px ${FONT}`).catch(() => undefined);
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    suppressErrorRendering: true,
    htmlLabels: false,
    flowchart: { htmlLabels: false },
    class: { htmlLabels: false },
    journey: { titleFontFamily: FONT },
    // Otherwise as wide as the frame, however narrow that is.
    gantt: { useWidth: 720 },
    maxTextSize: MAX_SOURCE_LENGTH,
    // What a diagram must not change about itself.
    secure: [
      "secure",
      "securityLevel",
      "startOnLoad",
      "suppressErrorRendering",
      "maxTextSize",
      "maxEdges",
      "htmlLabels",
      "dompurifyConfig",
      "themeCSS",
      "fontFamily",
      "layout",
    ],
    theme: "base",
    fontFamily: FONT,
    themeVariables: themeVariables(colors, isDark),
    themeCSS: themeCss(colors),
  });
  const { svg } = await mermaid.render("drawing", source);
  box.innerHTML = svg;
  box.ariaLabel = label;
  const drawn = box.querySelector("svg");
  if (!drawn) throw new Error("Nothing was drawn.");
  const zoom = keepFitting(box, drawn);
  // The file that is saved keeps its links.
  const file = new XMLSerializer().serializeToString(drawn);
  removeLinks(drawn);
  addEventListener("message", ({ source: sender, data }: MessageEvent<DiagramCommand>) => {
    if (sender !== parent) return;
    if (data.method === "diagram/zoom") zoom(data.params.step);
    else if (data.method === "diagram/draw-png") void drawPng(drawn, colors.paper);
  });
  send({ method: "diagram/drawn", params: { svg: file } });
}

draw(request).catch((error: unknown) =>
  send({
    method: "diagram/failed",
    params: { message: error instanceof Error ? error.message : String(error) },
  }),
);
