import { expect, test } from "vitest";
import { formulaHtml } from "./rich-math";

test("a formula has MathML for screen readers and markup for the eye", () => {
  const html = formulaHtml(String.raw`\frac{a}{b}`, true) ?? "";
  expect(html).toContain("<mfrac>");
  expect(html).toMatch(/class="katex-html" aria-hidden="true"/u);
  expect(html).toContain("katex-display");
  expect(formulaHtml("x", false)).not.toContain("katex-display");
});

test("a formula with an error stays source", () => {
  for (const tex of [
    String.raw`\frac{a`,
    "a }",
    String.raw`\unknown`,
    "x^2^3",
    "&",
    String.raw`\begin{matrix}`,
  ])
    expect(formulaHtml(tex, false)).toBe(undefined);
});

/** Formulas that want more than to be read. */
const hostile = [
  String.raw`\href{javascript:alert(1)}{x}`,
  String.raw`\href{https://evil.example}{x}`,
  String.raw`\url{https://evil.example}`,
  String.raw`\includegraphics{https://evil.example/x.png}`,
  String.raw`\htmlClass{fixed inset-0}{x}`,
  String.raw`\htmlStyle{position: fixed; background: url(https://evil.example)}{x}`,
  String.raw`\htmlId{root}{x}`,
  String.raw`\htmlData{onclick=alert(1)}{x}`,
  String.raw`\text{<img src=https://evil.example onerror=alert(1)>}`,
  String.raw`\color{red; background: url(https://evil.example)}{x}`,
  String.raw`\text{</annotation></semantics></math><script>alert(1)</script>}`,
  "x<script>alert(1)</script>",
];

test("no formula brings links, images, scripts, handlers or addresses", () => {
  for (const tex of hostile) {
    const tags = (formulaHtml(tex, true) ?? "").match(/<[^>]*>/gu) ?? [];
    for (const tag of tags) {
      expect(tag).toMatch(/^<\/?(?:span|svg|path|m[a-z]+|semantics|annotation)\b/u);
      expect(tag).not.toMatch(/ (?:href|src|id|on[a-z]+|data-[a-z]+)=|url\(|position: ?fixed|inset-0/u);
    }
  }
});

/** Formulas whose markup, memory or time would grow without a limit. */
const bombs = [
  String.raw`\def\a{\a\a}\a`,
  String.raw`\def\a{xx}\def\b{\a\a}\def\c{\b\b}\def\d{\c\c}\def\e{\d\d}\def\f{\e\e}\def\g{\f\f}\def\h{\g\g}\def\i{\h\h}\def\j{\i\i}\j\j\j`,
  `${"{".repeat(900)}x${"}".repeat(900)}`,
  `${String.raw`\sqrt{`.repeat(280)}x${"}".repeat(280)}`,
  `${"x^{".repeat(490)}x${"}".repeat(490)}`,
  `${String.raw`\left(`.repeat(140)}x${String.raw`\right)`.repeat(140)}`,
  `${String.raw`\mathchoice{`.repeat(30)}x${"}{x}{x}{x}".repeat(30)}`,
  "x".repeat(100_000),
  String.raw`\begin{matrix}${"&".repeat(1_900)}\end{matrix}`,
];

test("no formula takes more than a moment or nests deeper than layout can bear", () => {
  for (const tex of bombs) {
    const started = performance.now();
    const html = formulaHtml(tex, true) ?? "";
    expect(performance.now() - started).toBeLessThan(3_000);
    expect(html.length).toBeLessThanOrEqual(250_000);
  }
  expect(formulaHtml(bombs[3] ?? "", true)).toBe(undefined);
});

test("no formula is larger than 20 em or outlives its own definitions", () => {
  expect(formulaHtml(String.raw`\rule{9999em}{9999em}`, false)).toContain("border-right-width:20em");
  formulaHtml(String.raw`\gdef\x{changed}\x`, false);
  expect(formulaHtml(String.raw`\x`, false)).toBe(undefined);
});
