import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { render } from "vitest-browser-react";
import { Markdown } from "./markdown";

const code = Array.from({ length: 58 }, (_, line) => `print("line ${line + 1}")`).join("\n");
const fenced = (language: string, text: string) => `\`\`\`${language}\n${text}\n\`\`\``;

test.each([14, 16, 20])("at a text size of %i px, forty lines of long code are shown", async (size) => {
  const { container } = await render(
    <div style={{ fontSize: size, width: 600 }}>
      <Markdown text={fenced("python", code)} complete />
    </div>,
  );
  await expect.element(page.getByText("40 of 58 lines")).toBeVisible();
  const block = container.querySelector("pre");
  const words = block?.querySelector("code")?.getClientRects()[0];
  expect(block && words).toBeDefined();
  if (!block || !words) return;
  const lines =
    (block.getBoundingClientRect().bottom - words.top) /
    Number.parseFloat(getComputedStyle(block).lineHeight);
  expect(lines).toBeGreaterThan(39.5);
  expect(lines).toBeLessThan(40.5);
});

test("wrapped code that is folded states no number of lines", async () => {
  await render(<Markdown text={fenced("python", code)} complete />);
  await page.getByRole("button", { name: "Wrap lines" }).click();
  await expect.element(page.getByText("40 of 58 lines")).not.toBeInTheDocument();
  await page.getByRole("button", { name: "Wrap lines" }).click();
  await expect.element(page.getByText("40 of 58 lines")).toBeVisible();
});

test.each(["", "text", "TXT", "plaintext"])(
  "code of the language %j is named as the others are",
  async (language) => {
    const { container } = await render(<Markdown text={fenced(language, "1 + 1")} complete />);
    await expect.poll(() => container.querySelector("figcaption span")?.textContent).toBe("Text");
  },
);
