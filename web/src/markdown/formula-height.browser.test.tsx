import { expect, test } from "vitest";
import { heightInEm } from "./formula-height";
import "./markdown.css";
import { formulaHtml, prepareMath } from "./rich-math";

const formulas = [
  "x = y",
  String.raw`E = mc^2`,
  String.raw`\frac{a}{b}`,
  String.raw`\frac{1}{1 + \frac{1}{1 + \frac{1}{x}}}`,
  String.raw`\cfrac{1}{1 + \cfrac{1}{1 + \cfrac{1}{x}}}`,
  String.raw`\frac{\frac{a}{b}}{\frac{c}{d}}`,
  String.raw`\sum_{k=1}^{n} k = \frac{n(n+1)}{2}`,
  String.raw`\int_0^\infty e^{-x^2} \, dx = \frac{\sqrt{\pi}}{2}`,
  String.raw`\begin{pmatrix} a & b \\ c & d \\ e & f \\ g & h \end{pmatrix}`,
  String.raw`\begin{cases} x & x > 0 \\ \frac{1}{x} & x < 0 \\ 0 & x = 0 \end{cases}`,
  String.raw`\begin{aligned} a &= b + c \\ &= \frac{d}{e} + f \\ &= \sum_{i} g_i \end{aligned}`,
  String.raw`\underbrace{a + b + c}_{\text{three terms}}`,
  String.raw`\overbrace{\underbrace{a + b}_{x} + c}^{y}`,
  String.raw`\lim_{n \to \infty} \left(1 + \frac{1}{n}\right)^n = e`,
  String.raw`\boxed{\frac{-b \pm \sqrt{b^2 - 4ac}}{2a}}`,
  String.raw`\binom{n}{k} = \frac{n!}{k!(n-k)!}`,
];

test("no formula is higher than what is kept free for it", async () => {
  await prepareMath();
  const box = document.createElement("div");
  box.className = "markdown";
  document.body.append(box);
  const tooLow = formulas.filter((tex) => {
    const line = document.createElement("span");
    line.className = "formula-display";
    line.innerHTML = formulaHtml(tex, true) ?? "";
    expect(line.innerHTML).not.toBe("");
    box.replaceChildren(line);
    const em = Number.parseFloat(getComputedStyle(line).fontSize);
    const height = line.getBoundingClientRect().height / em;
    return height > heightInEm(tex);
  });
  expect(tooLow).toEqual([]);
  box.remove();
});

test("what is kept free is not much more than most formulas need", () => {
  expect(heightInEm("x = y")).toBe(1.6);
  expect(heightInEm(String.raw`\frac{a}{b} + \frac{c}{d}`)).toBe(3.25);
  expect(heightInEm(String.raw`a \\ b`)).toBe(3.2);
  expect(heightInEm(String.raw`\{ x \}`)).toBe(1.6);
});
