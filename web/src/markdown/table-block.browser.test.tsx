import { expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import { render } from "vitest-browser-react";
import { accessibilityFaults } from "@/testing/axe";
import { Markdown } from "./markdown";

const steps = [
  "| Step | Wait | A head with [a link](https://example.com) that takes two lines or more | |",
  "| --- | ---: | :-: | --- |",
  "| Review | 10 min | 93 % | x |",
  "| Intake | 9 min | 70 % | y |",
  "| Archive | 100 min | 35 % | z |",
].join("\n");

const answer = (text: string, complete = true, width = 600) => (
  <div style={{ width }}>
    <Markdown text={text} complete={complete} />
  </div>
);

const table = page.getByRole("table");
const firstColumn = () => [...document.querySelectorAll("td:first-child")].map((cell) => cell.textContent);
const sortOf = (name: string) => page.getByRole("columnheader", { name }).element().getAttribute("aria-sort");
const loadedFiles = () =>
  performance.getEntriesByType("resource").filter(({ name }) => name.includes("/rich-table"));

/** Returns the boxes of a table, of its cells and of the lines in them. */
function boxes(): string[] {
  const figure = document.querySelector("figure");
  if (!figure) throw new Error("no table");
  const texts = document.createTreeWalker(figure.querySelector("table") ?? figure, NodeFilter.SHOW_TEXT);
  const ranges: Range[] = [];
  while (texts.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(texts.currentNode);
    ranges.push(range);
  }
  const elements = [figure, ...figure.querySelectorAll("figcaption, [role=group], table, th, td")];
  return [...elements, ...ranges]
    .flatMap((one) => [...one.getClientRects()])
    .map(({ x, y, width, height }) => [x, y, width, height].map((side) => side.toFixed(2)).join(" "));
}

test("a table stays plain until it is finished, and then moves nothing", async () => {
  for (const width of [600, 288]) {
    const { rerender, unmount } = await render(answer(steps, false, width));
    await expect.element(table).toBeVisible();
    await document.fonts.ready;
    if (width === 600) expect(loadedFiles()).toEqual([]);
    expect(page.getByRole("button").elements()).toEqual([]);
    const before = boxes();
    await rerender(answer(steps, true, width));
    await expect.element(page.getByRole("button", { name: "Wait" })).toBeInTheDocument();
    expect(boxes()).toEqual(before);
    await unmount();
  }
  expect(loadedFiles()).not.toEqual([]);
});

test("a click on a head sorts by it: ascending, descending, not at all", async () => {
  await render(answer(steps));
  const wait = page.getByRole("button", { name: "Wait" });
  await wait.click();
  expect(firstColumn()).toEqual(["Intake", "Review", "Archive"]);
  expect(sortOf("Wait")).toBe("ascending");
  const sorted = boxes().length;
  await wait.click();
  expect(firstColumn()).toEqual(["Archive", "Review", "Intake"]);
  expect(sortOf("Wait")).toBe("descending");
  await wait.click();
  expect(firstColumn()).toEqual(["Review", "Intake", "Archive"]);
  expect(sortOf("Wait")).toBe(null);
  expect(boxes()).toHaveLength(sorted);
});

test("the keyboard sorts, also by heads that have a link or no text", async () => {
  await render(answer(steps));
  page.getByRole("button", { name: "Step" }).element().focus();
  await userEvent.keyboard("{Enter}");
  expect(firstColumn()).toEqual(["Archive", "Intake", "Review"]);
  await userEvent.keyboard("{Tab}{Enter}");
  expect(firstColumn()).toEqual(["Intake", "Review", "Archive"]);
  await userEvent.keyboard("{Tab}");
  expect(document.activeElement?.textContent).toBe("a link");
  await userEvent.keyboard("{Tab} ");
  expect(document.activeElement?.getAttribute("aria-label")).toMatch(/^Sort by A head with a link/u);
  expect(firstColumn()).toEqual(["Archive", "Intake", "Review"]);
  await userEvent.keyboard("{Tab}{Enter}{Enter}");
  expect(document.activeElement?.getAttribute("aria-label")).toBe("Column 4");
  expect(firstColumn()).toEqual(["Archive", "Intake", "Review"]);
});

test("copies the table as Markdown and as CSV, in the order in which it is shown", async () => {
  const write = vi.spyOn(navigator.clipboard, "writeText").mockResolvedValue();
  await render(answer("| Step | Wait |\n| --- | ---: |\n| b | 10 |\n| a, c | 9 |"));
  await page.getByRole("button", { name: "Wait" }).click();
  await page.getByRole("button", { name: "Copy as CSV" }).click();
  expect(write).toHaveBeenLastCalledWith('Step,Wait\r\n"a, c",9\r\nb,10\r\n');
  await page.getByRole("button", { name: "Copy as Markdown" }).click();
  expect(write).toHaveBeenLastCalledWith("| Step | Wait |\n| --- | --: |\n| a, c | 9 |\n| b | 10 |\n");
  await expect.element(page.getByRole("status").first()).toMatchTextContent("Copied");
});

test("saves the table as CSV, in the order in which it is shown", async () => {
  let saved: Blob | undefined;
  let name: string | undefined;
  vi.spyOn(URL, "createObjectURL").mockImplementation((blob) => {
    if (blob instanceof Blob) saved = blob;
    return "blob:saved";
  });
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function click(this: HTMLAnchorElement) {
    name = this.download;
  });
  await render(answer("| Step | Wait |\n| --- | ---: |\n| b | 10 |\n| ä, c | 9 |"));
  await page.getByRole("button", { name: "Wait" }).click();
  await page.getByRole("button", { name: "Download as CSV" }).click();
  expect(name).toBe("table.csv");
  expect(await saved?.text()).toBe('Step,Wait\r\n"ä, c",9\r\nb,10\r\n');
});

test("a copy of a table that the browser refuses shows no check mark", async () => {
  vi.spyOn(navigator.clipboard, "writeText").mockRejectedValue(new Error("not allowed"));
  await render(answer(steps));
  await page.getByRole("button", { name: "Copy as CSV" }).click();
  await expect.element(page.getByText("Copying isn't allowed here")).toBeInTheDocument();
  expect(document.querySelector(".lucide-check")).toBeNull();
});

test("the copy buttons appear with the pointer or the focus", async () => {
  await render(answer(steps));
  const copy = page.getByRole("button", { name: "Copy as CSV" });
  const opacity = () => Number(getComputedStyle(copy.element().parentElement ?? document.body).opacity);
  await page.elementLocator(document.body).hover({ position: { x: 1_200, y: 700 } });
  await vi.waitFor(() => expect(opacity()).toBe(0));
  await table.hover();
  await vi.waitFor(() => expect(opacity()).toBe(1));
  await page.elementLocator(document.body).hover({ position: { x: 1_200, y: 700 } });
  await vi.waitFor(() => expect(opacity()).toBe(0));
  page.getByRole("button", { name: "Step" }).element().focus();
  await vi.waitFor(() => expect(opacity()).toBe(1));
});

test("a wide table scrolls in its own box, which takes the focus only then", async () => {
  const { rerender } = await render(answer(steps, true, 288));
  const box = page.getByRole("group", { name: "Table" }).element();
  await expect.element(page.getByText("3 rows")).toBeVisible();
  await vi.waitFor(() => expect(box.getAttribute("tabindex")).toBe("0"));
  expect(box.scrollWidth).toBeGreaterThan(box.clientWidth);
  expect(box.parentElement?.getBoundingClientRect().width).toBe(288);
  await rerender(answer(steps, true, 900));
  await vi.waitFor(() => expect(box.hasAttribute("tabindex")).toBe(false));
});

test("a shadow stands at each side where a wide table goes on, and only there", async () => {
  const { rerender } = await render(answer(steps, true, 288));
  const box = page.getByRole("group", { name: "Table" }).element();
  const shaded = async () => {
    const base64 = await page.screenshot({ element: box, save: false });
    const image = new Image();
    image.src = `data:image/png;base64,${base64}`;
    await image.decode();
    const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
    if (!context) throw new Error("no canvas");
    context.drawImage(image, 0, 0);
    // Along a line of the last row's padding, where no words are.
    const { data } = context.getImageData(0, image.height - 5, image.width, 1);
    const light = (x: number) => data[x * 4 + 1] ?? 0;
    const middle = light(Math.floor(image.width / 2));
    return { left: light(2) < middle, right: light(image.width - 3) < middle };
  };
  expect(await shaded()).toEqual({ left: false, right: true });
  box.scrollLeft = 60;
  expect(await shaded()).toEqual({ left: true, right: true });
  box.scrollLeft = box.scrollWidth;
  expect(await shaded()).toEqual({ left: true, right: false });
  await rerender(answer(steps, true, 900));
  expect(await shaded()).toEqual({ left: false, right: false });
});

test("a sorted table is accessible", async () => {
  const { container } = await render(answer(steps, true, 288));
  await page.getByRole("button", { name: "Wait" }).click();
  expect(await accessibilityFaults(container)).toEqual([]);
});
