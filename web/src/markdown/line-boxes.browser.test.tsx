import { expect, test } from "vitest";
import { render } from "vitest-browser-react";
import { highlight } from "./highlight";
import { Markdown } from "./markdown";

const code = `import { readFile } from "node:fs/promises";

// Reads a file of numbers, one a line, however many there are.
export async function total(path: string): Promise<number> {
  const lines = (await readFile(path, "utf8")).split("\\n");
  return lines.map(Number).reduce((sum, one) => sum + one, 0);
}`;
const words = `Here is **what adds them**, with \`total\` as its name, and some more words than fit on a line.`;
const text = `${words}\n\n\`\`\`ts\n${code}\n\`\`\`\n\n- It reads the *whole* file.\n- It adds what it finds.`;

const view = (shown: string, complete: boolean) => (
  <div style={{ width: 420 }}>
    <Markdown text={shown} complete={complete} />
  </div>
);

/** Returns where each line of an element's text begins and ends, however many elements the line consists of. */
function lineBoxes(element: Element): string[] {
  const lines = new Map<number, { left: number; right: number; bottom: number }>();
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    if (walker.currentNode.parentElement?.closest("figcaption, button")) continue;
    const range = document.createRange();
    range.selectNodeContents(walker.currentNode);
    for (const { top, left, right, bottom } of range.getClientRects()) {
      const line = lines.get(Math.round(top));
      lines.set(Math.round(top), {
        left: Math.min(left, line?.left ?? left),
        right: Math.max(right, line?.right ?? right),
        bottom: Math.max(bottom, line?.bottom ?? bottom),
      });
    }
  }
  return [...lines].map(
    ([top, { left, right, bottom }]) =>
      `${top} to ${Math.round(bottom)}: ${left.toFixed(1)} to ${right.toFixed(1)}`,
  );
}

test("lines stand where they stood while the text was written, once it is finished and coloured", async () => {
  const { container, rerender } = await render(view(text, false));
  await document.fonts.ready;
  const growing = lineBoxes(container);
  expect(growing.length).toBeGreaterThan(10);
  await rerender(view(text, true));
  expect(lineBoxes(container)).toEqual(growing);
  await highlight("ts", code);
  await expect.poll(() => container.querySelectorAll(".code-keyword").length).toBeGreaterThan(3);
  // The controls of the code come late as well.
  await expect.poll(() => container.querySelectorAll("figcaption button").length).toBeGreaterThan(2);
  expect(container.querySelector(".code-comment")).not.toBeNull();
  expect(lineBoxes(container)).toEqual(growing);
});

test("code that is being written stands where the finished code does", async () => {
  const open = text.slice(0, text.indexOf("\n```\n"));
  const { container, rerender } = await render(view(open, false));
  await document.fonts.ready;
  const growing = lineBoxes(container);
  await rerender(view(`${open}\n\`\`\``, true));
  await highlight("ts", code);
  await expect.poll(() => container.querySelectorAll(".code-keyword").length).toBeGreaterThan(3);
  expect(lineBoxes(container)).toEqual(growing);
});

test("a growing text is as high as the finished one, wherever its last line ends", async () => {
  const { container, rerender } = await render(view("", false));
  await document.fonts.ready;
  const grown =
    "A sentence that goes on, letter by letter, until it has come to the end of its second line, or so.";
  for (let end = 1; end <= grown.length; end += 1) {
    const heights: number[] = [];
    for (const complete of [false, true]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await rerender(view(grown.slice(0, end), complete));
      heights.push(container.getBoundingClientRect().height);
    }
    expect(heights[0], `after ${end} letters`).toBe(heights[1]);
  }
});
