import katex from "katex";
import styles from "katex/dist/katex.min.css?inline";

/** Longer formulas stay source. */
const MAX_LENGTH = 2_000;
/** Cells of tables, which cost most. */
const MAX_CELLS = 250;
const CELL_ENDS = /&|\\\\|\\cr\b/gu;
/** Expansions of macros, which a formula may define. */
const MAX_EXPANSIONS = 500;
/** Size of what a formula may ask for, in em. */
const MAX_SIZE = 20;
/** Length and depth of the markup of a formula. Layout recurses into the DOM. */
const MAX_HTML_LENGTH = 250_000;
const MAX_HTML_DEPTH = 200;
/** Number of drawn formulas that are kept, so that a block that changes draws none again. */
const MAX_KEPT = 1_000;

const TAG = /<(\/?)[a-z][^>]*?(\/?)>/gu;

const kept = new Map<string, string | undefined>();

/** Adds to the page what formulas need: styles, copying as TeX, and the fonts of most, so that none is drawn twice. */
export async function prepareMath(): Promise<void> {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(styles);
  document.adoptedStyleSheets.push(sheet);
  document.addEventListener("copy", copySources);
  const fonts = ["1em KaTeX_Main", "italic 1em KaTeX_Math", "1em KaTeX_Size1", "1em KaTeX_Size2"];
  await Promise.allSettled(fonts.map((font) => document.fonts.load(font)));
}

/** Copies formulas as they were written. The browser would copy the letters of their MathML and of their drawing. */
function copySources(event: ClipboardEvent): void {
  const selection = getSelection();
  if (event.defaultPrevented || !event.clipboardData || !selection || selection.isCollapsed) return;
  const range = selection.getRangeAt(0);
  const { commonAncestorContainer: around } = range;
  const element = around instanceof Element ? around : around.parentElement;
  const formula = element?.closest("[data-tex]");
  const copied = document.createElement("div");
  copied.append(formula ? formula.cloneNode(true) : range.cloneContents());
  const formulas = copied.querySelectorAll<HTMLElement>("[data-tex]");
  if (formulas.length === 0) return;
  for (const one of formulas) one.replaceChildren(one.dataset["tex"] ?? "");
  // Only what has a layout knows its line breaks.
  copied.className = "markdown fixed w-full opacity-0";
  document.body.append(copied);
  event.clipboardData.setData("text/plain", copied.innerText);
  // With its lists, tables and emphasis, for programs that keep them. Controls within the selection are none of it.
  for (const control of copied.querySelectorAll("button, [role=status]")) control.remove();
  event.clipboardData.setData("text/html", copied.innerHTML);
  copied.remove();
  event.preventDefault();
}

/** Returns the markup of a formula with its MathML, or undefined if it has errors or exceeds a limit. */
export function formulaHtml(tex: string, isDisplayed: boolean): string | undefined {
  const key = `${isDisplayed ? "display" : "inline"} ${tex}`;
  if (kept.has(key)) return kept.get(key);
  const html = isSmall(tex) ? draw(tex, isDisplayed) : undefined;
  kept.set(key, html);
  const [oldest] = kept.keys();
  if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
  return html;
}

function isSmall(tex: string): boolean {
  return tex.length <= MAX_LENGTH && (tex.match(CELL_ENDS)?.length ?? 0) <= MAX_CELLS;
}

function draw(tex: string, isDisplayed: boolean): string | undefined {
  try {
    const html = katex.renderToString(tex, {
      displayMode: isDisplayed,
      output: "htmlAndMathml",
      throwOnError: true,
      // No links, images, classes or styles.
      trust: false,
      strict: "ignore",
      maxExpand: MAX_EXPANSIONS,
      maxSize: MAX_SIZE,
    });
    return html.length <= MAX_HTML_LENGTH && depthOf(html) <= MAX_HTML_DEPTH ? html : undefined;
  } catch {
    // Errors in the formula, and formulas that nest deeper than the stack.
    return undefined;
  }
}

function depthOf(html: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [, closes, isEmpty] of html.matchAll(TAG)) {
    if (isEmpty === "") depth += closes === "" ? 1 : -1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}
