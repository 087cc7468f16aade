import type { Nodes } from "mdast";
import fc from "fast-check";
import { fromMarkdown } from "mdast-util-from-markdown";
import type { Code, Construct, Extension } from "micromark-util-types";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { advance, EMPTY_MARKDOWN } from "./incremental";
import { Markdown } from "./markdown";
import { math as syntax, mathFromMarkdown } from "./math";
import { parseMarkdown } from "./parse";

/** Returns the text as shown on the page. */
const shown = (text: string): string => {
  const html = renderToStaticMarkup(<Markdown text={text} complete />);
  const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'" };
  return html
    .replaceAll(/<[^>]*>/gu, "")
    .replaceAll(/&(amp|lt|gt|quot|#x27);/gu, (_, name: string) => entities[name] ?? "");
};

function formulas(node: Nodes): string[] {
  if (node.type === "math") return [node.value];
  return "children" in node ? node.children.flatMap(formulas) : [];
}

const visible = (node: Nodes): string =>
  "children" in node ? node.children.map(visible).join("") : "value" in node ? node.value : "";

test("shows formulas as they are written", () => {
  for (const formula of [
    String.raw`\(a^2\)`,
    String.raw`\(a_1 * b_2 * c_3\)`,
    String.raw`\[x_{1} = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}\]`,
    String.raw`\[\begin{matrix} a & b \\[2pt] c & d \end{matrix}\]`,
    "$a_1 * b_1 * c_1$",
    String.raw`$\{x : x \in \mathbb{R}\}$`,
    "$$\\int_0^1 f(x)_a dx_a$$",
    "$x$",
  ]) {
    expect(formulas(parseMarkdown(`Then ${formula} holds.`))).toEqual([formula]);
    expect(shown(`Then ${formula} holds, and **so** on.`)).toBe(`Then ${formula} holds, and so on.`);
    expect(shown(`**${formula}**`)).toBe(formula);
    expect(shown(`- one\n- ${formula}`)).toBe(`one${formula}`);
  }
});

test("shows formulas in lines of their own as they are written", () => {
  for (const formula of [
    "\\[\na_1\n+ b_1\n- c\n\\]",
    "$$\na * b\n= c * d\n$$",
    "$$\n\\alpha \\\\\n# no heading\n$$,",
  ]) {
    expect(formulas(parseMarkdown(`Then\n${formula}\nholds.`))).toEqual([formula]);
    expect(formulas(parseMarkdown(`${formula}\n\nThen`))).toEqual([formula]);
    expect(formulas(parseMarkdown(`- item\n\n  ${formula.replaceAll("\n", "\n  ")}\n- next`))).toHaveLength(
      1,
    );
    expect(shown(formula)).toBe(formula);
  }
});

test("a formula in lines of its own never takes in the paragraph after a blank line", () => {
  expect(shown("\\[\nx\n\nSome **bold** words.")).toBe("\\[\nxSome bold words.");
});

test("leaves prices, variables and escapes alone", () => {
  for (const [text, want] of [
    ["It is $5 and $6.", "It is $5 and $6."],
    ["From $5 to *about* $6, or US$7.", "From $5 to about $6, or US$7."],
    ["$5-$6 *now*", "$5-$6 now"],
    ["$ a *b* $", "$ a b $"],
    ["It is $5 to $6, so $ x *holds*.", "It is $5 to $6, so $ x holds."],
    ["It is $5, or `$x$`, *now*.", "It is $5, or $x$, now."],
    ["`$a_b_c$` and \\$x\\$ *y*", "$a_b_c$ and $x$ y"],
    ["\\[foo] and \\(bar) *go*", "[foo] and (bar) go"],
  ] as const) {
    expect(formulas(parseMarkdown(text))).toEqual([]);
    expect(shown(text)).toBe(want);
  }
});

test("finds the formula behind prices", () => {
  expect(formulas(parseMarkdown("It costs $5 and $6. So $x < y$ holds."))).toEqual(["$x < y$"]);
});

const symbols = fc.constantFrom(
  "a",
  "_1",
  "*",
  "^2",
  "_{b}",
  "\\frac",
  " + ",
  "~",
  "[c]",
  "\\,",
  "<",
  "|x|",
  "'",
);
const body = fc.array(symbols, { minLength: 1, maxLength: 10 }).map((all) => `x${all.join("")}y`);
const formula = fc.oneof(
  body.map((text) => `\\(${text}\\)`),
  body.map((text) => `\\[${text}\\]`),
  body.map((text) => `$${text}$`),
  body.map((text) => `$$${text}$$`),
);

test("whatever a formula holds is shown as written, between words that are formatted", () => {
  fc.assert(
    fc.property(formula, (math) => {
      expect(shown(`**Bold** ${math} and *soft*`)).toBe(`Bold ${math} and soft`);
    }),
  );
});

test("a formula that grows is shown as far as it has come, and loses nothing again", () => {
  fc.assert(
    fc.property(formula, fc.constantFrom("", "**so ", "- ", "see [this "), (math, before) => {
      const text = `${before}${math}`;
      const words = before.replaceAll(/^\W+/gu, "").replace("[", "");
      let state = EMPTY_MARKDOWN;
      for (let end = before.length + 3; end < text.length; end += 1) {
        state = advance(state, text.slice(0, end), false);
        const seen = [...state.finished, ...state.tail].map(({ node }) => visible(node)).join("");
        // A trailing backslash waits for the character it escapes.
        const want = `${words}${math.slice(0, end - before.length)}`;
        expect([want.trimEnd(), want.slice(0, -1).trimEnd()]).toContain(seen.trimEnd());
      }
    }),
    { examples: [["$a_1*b$", "**so "]] },
  );
});

/** Returns how many characters the syntax of formulas reads in a text, each as often as it is read. */
function charactersRead(text: string): number {
  let read = 0;
  const count = (construct: Construct): Construct => ({
    ...construct,
    tokenize(effects, ok, nok) {
      const consume = (code: Code): undefined => {
        read += 1;
        effects.consume(code);
      };
      return construct.tokenize.call(this, { ...effects, consume }, ok, nok);
    },
  });
  const countAll = (constructs: Extension["text"] = {}) =>
    Object.fromEntries(
      Object.entries(constructs).map(([code, those]) => [code, [those ?? []].flat().map(count)]),
    );
  const counted: Extension = { text: countAll(syntax.text), flow: countAll(syntax.flow) };
  expect(
    formulas(fromMarkdown(text, { extensions: [counted], mdastExtensions: [mathFromMarkdown] })),
  ).toEqual([]);
  return read;
}

test("many delimiters without their partner are read in proportion to their number", () => {
  const text = "\\( \\[ $x ".repeat(500);
  expect(formulas(parseMarkdown(text))).toEqual([]);
  // To the end once for each kind; every delimiter to the end would be 750 times the text.
  const read = charactersRead(text);
  expect(read).toBeGreaterThan(text.length);
  expect(read).toBeLessThan(5 * text.length);
});
