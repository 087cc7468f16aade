import type { Nodes, RootContent } from "mdast";
import fc from "fast-check";
import { expect, test } from "vitest";
import { advance, type Block, EMPTY_MARKDOWN, type MarkdownState } from "./incremental";
import { parseMarkdown } from "./parse";

/** Removes source positions from a tree, which differ if only a part of the text is parsed. */
function bare(node: Nodes): unknown {
  const { position: _, ...rest } = node;
  return "children" in rest ? { ...rest, children: rest.children.map((child) => bare(child)) } : rest;
}

/** Enough to find regressions; each run parses a text at every length. */
const RUNS = 60;
const PATIENCE_MS = 60_000;

const bareBlocks = (blocks: readonly Block[]): unknown[] => blocks.map(({ node }) => bare(node));

function visibleText(node: Nodes): string {
  if (node.type === "text" || node.type === "inlineCode" || node.type === "code") return node.value;
  return "children" in node ? node.children.map(visibleText).join("") : "";
}

function feed(text: string, size: number): MarkdownState[] {
  const states: MarkdownState[] = [];
  let state = EMPTY_MARKDOWN;
  for (let end = size; ; end += size) {
    state = advance(state, text.slice(0, end), false);
    states.push(state);
    if (end >= text.length) return [...states, advance(state, text, true)];
  }
}

const sentence = fc.constantFrom(
  "A plain sentence of words.",
  "Some **bold** and *soft* words.",
  "Run `ls -la` now.",
  "See [the page](https://example.com/a_b).",
  "snake_case and 2 * 3 * 4.",
  "~~gone~~ and ~5 left.",
  "***both*** at once.",
  "Nested **bold with `code` and *soft***.",
);
const block = fc.oneof(
  sentence,
  fc.tuple(sentence, sentence).map((lines) => lines.join("\n")),
  sentence.map((line) => `## ${line}`),
  fc
    .array(sentence, { minLength: 1, maxLength: 3 })
    .map((items) => items.map((item) => `- ${item}`).join("\n")),
  fc
    .array(sentence, { minLength: 1, maxLength: 3 })
    .map((items) => items.map((item, index) => `${index + 1}. ${item}`).join("\n")),
  fc.constantFrom(
    "```js\nconst a = 1;\n\n// two\n```",
    "~~~\ntext ``` inside\n~~~",
    "| a | b |\n| --- | :-: |\n| **x** | y |\n| z |",
    "> quoted **words**\n> go on",
    "---",
    "<div>\nraw\n</div>",
    "1. two\n\n   more of two",
    "- a\n\n  - b\n    - c",
    "    indented code",
    "Title\n=====",
  ),
);
const markdown = fc
  .array(fc.tuple(block, fc.constantFrom("\n\n", "\n\n", "\n\n", "\n", "\n\n\n")), {
    minLength: 1,
    maxLength: 8,
  })
  .map((blocks) => blocks.map((pair) => pair.join("")).join(""));

test(
  "finished blocks never change as text is added, and the end equals a parse of the whole",
  () => {
    fc.assert(
      fc.property(markdown, fc.integer({ min: 1, max: 9 }), (text, size) => {
        const states = feed(text, size);
        const whole = parseMarkdown(text).children.map((node: RootContent) => bare(node));
        let before: readonly Block[] = [];
        for (const { finished } of states) {
          expect(
            finished.slice(0, before.length).every((entry, index) => entry.node === before[index]?.node),
          ).toBe(true);
          if (finished.length > before.length)
            expect(bareBlocks(finished)).toEqual(whole.slice(0, finished.length));
          before = finished;
        }
        expect(bareBlocks(states.at(-1)?.finished ?? [])).toEqual(whole);
      }),
      { numRuns: RUNS },
    );
  },
  PATIENCE_MS,
);

test(
  "no frame shows raw emphasis marks or a broken fence",
  () => {
    const clean = fc
      .array(
        fc.oneof(
          fc.constantFrom(
            "Some **bold** and *soft* words.",
            "Run `ls -la` and **go `on` now**.",
            "***both*** at once, ~~gone~~.",
            "See [the **page**](https://example.com/x) and ![alt](https://example.com/i.png).",
          ),
          fc.constantFrom(
            "- one **two**\n- three `four`",
            "```js\nlet a;\n```",
            "| **a** | b |\n| --- | --- |\n| *c* | `d` |",
            "# A **title**",
            "> **quoted** words",
            "Title\n=====",
            "1. **x**: y\n2. **z**",
          ),
        ),
        { minLength: 1, maxLength: 5 },
      )
      .map((blocks) => blocks.join("\n\n"));
    fc.assert(
      fc.property(clean, (text) => {
        for (const state of feed(text, 1)) {
          const shown = [...state.finished, ...state.tail].map(({ node }) => visibleText(node)).join("\n");
          expect(shown).not.toMatch(/[*`|[\]~]|==|https:/u);
        }
      }),
      { numRuns: RUNS },
    );
  },
  PATIENCE_MS,
);

test("what is shown only grows, but for marks that wait for their meaning", () => {
  const text = "Use **bold words** and `code here` as [this link](https://example.com) says.";
  let longest = 0;
  for (const state of feed(text, 1)) {
    const shown = [...state.finished, ...state.tail].map(({ node }) => visibleText(node)).join("");
    expect(shown.length).toBeGreaterThanOrEqual(longest - 1);
    longest = Math.max(longest, shown.length);
  }
  expect(longest).toBe("Use bold words and code here as this link says.".length);
});

test("a text that grows after it was complete is parsed anew", () => {
  const first = advance(EMPTY_MARKDOWN, "One line", true);
  const grown = advance(first, "One line goes on.", true);
  expect(grown.finished.map(({ node }) => visibleText(node))).toEqual(["One line goes on."]);
});

test("links defined at the end reach back to the blocks before", () => {
  const states = feed("See [docs].\n\nMore words.\n\n[docs]: https://example.com/docs\n", 3);
  const last = states.at(-1);
  expect(JSON.stringify(bareBlocks(last?.finished ?? []))).toContain("linkReference");
  expect(last?.definitions.get("docs")?.url).toBe("https://example.com/docs");
});

test(
  "code that is still open is at each length what the parser makes of it",
  () => {
    const line = fc.oneof(
      fc.constantFrom(
        "",
        " ",
        "    four",
        "\tconst a = 1;",
        "``",
        "```",
        "~~~",
        "````",
        "```js",
        "> q",
        "- [x]: y",
      ),
      fc.string({ maxLength: 12 }),
      fc.constantFrom("a\rb", "nul \0 here", "\u2028"),
    );
    const opening = fc.constantFrom("```", "````ts", "~~~ js meta", "```` a\\b &amp;");
    fc.assert(
      fc.property(
        opening,
        fc.array(line, { maxLength: 12 }),
        fc.integer({ min: 1, max: 9 }),
        (mark, lines, size) => {
          const text = [mark, ...lines].join("\n");
          for (const state of feed(text, size).slice(0, -1)) {
            const anew = advance(EMPTY_MARKDOWN, state.text, false);
            const all = ({ finished, tail }: MarkdownState) => bareBlocks([...finished, ...tail]);
            expect(all(state)).toEqual(all(anew));
          }
        },
      ),
      { numRuns: 3 * RUNS },
    );
  },
  PATIENCE_MS,
);

test("a code block of 200 kB is parsed once, however it comes", () => {
  const text = `\`\`\`ts\n${"export const answer = 42; // and why\n\n".repeat(5_300)}`;
  const states = feed(text, 16);
  expect(text.length).toBeGreaterThan(200_000);
  // Once more when it is complete.
  expect((states.at(-1)?.lexed ?? 0) / text.length).toBeLessThan(2.1);
});

test(
  "streaming 50 kB in frames of 16 characters lexes at most 25 characters for each",
  () => {
    const paragraph =
      "An ordinary paragraph of an answer, with **some emphasis**, a `code span` and [a link](https://example.com/page). ".repeat(
        2,
      );
    const unit = `## A heading\n\n${paragraph.trim()}\n\n- first point of three\n- second, **in bold**\n- third\n\n\`\`\`ts\nexport const answer = 42;\nexport const other = 43;\n\`\`\`\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n\n`;
    const ratio = (length: number): number => {
      const text = unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
      return (feed(text, 16).at(-1)?.lexed ?? 0) / length;
    };
    expect(ratio(50_000)).toBeLessThanOrEqual(25);
    // Linear: twice the text costs twice as much.
    expect(ratio(50_000) / ratio(25_000)).toBeLessThan(1.05);
  },
  PATIENCE_MS,
);
