import { expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import { render } from "vitest-browser-react";
import { accessibilityFaults } from "@/testing/axe";
import { JsonTreeView } from "./json-tree-view";

const users = {
  total: 3,
  next: null,
  done: true,
  id: 9007199254740993n,
  users: [
    { name: "Ada", roles: ["admin", "author"] },
    { name: "Bob", roles: [] },
    { name: "Adam", note: "Knows Ada" },
  ],
};
const rows = () => page.getByRole("treeitem").elements();
const row = (name: string | RegExp) => page.getByRole("treeitem", { name });
const focused = () => document.activeElement?.textContent;
const search = page.getByRole("searchbox", { name: "Search in result" });

test("shows the upper levels with their types, and opens and closes on a click", async () => {
  await render(<JsonTreeView value={users} />);
  await expect.element(row("total: 3")).toBeVisible();
  await expect.element(row("id: 9007199254740993")).toBeVisible();
  await expect.element(row('name: "Ada"')).toBeVisible();
  await expect.element(row("roles: []")).toBeVisible();
  expect(row("roles: []").element().hasAttribute("aria-expanded")).toBe(false);
  const list = row(/^users: /u);
  await list.click();
  await expect.element(row('name: "Ada"')).not.toBeInTheDocument();
  await expect.element(list).toMatchTextContent("users: […]3 items");
  expect(list.element().getAttribute("aria-expanded")).toBe("false");
  await list.click();
  await expect.element(row('name: "Ada"')).toBeVisible();
});

test("the keyboard moves, opens and closes as in any tree, with one stop of Tab", async () => {
  await render(<JsonTreeView value={users} />);
  await expect.element(search).toBeVisible();
  expect(rows().filter(({ tabIndex }) => tabIndex === 0)).toHaveLength(1);
  rows()[0]?.focus();
  await userEvent.keyboard("{ArrowDown}{ArrowDown}");
  expect(focused()).toBe("next: null");
  await userEvent.keyboard("u{ArrowRight}{ArrowRight}");
  expect(focused()).toBe('name: "Ada"');
  await userEvent.keyboard("{ArrowLeft}{ArrowLeft}");
  expect(focused()).toBe("0: {…}2 keys");
  await userEvent.keyboard("{End}");
  expect(focused()).toBe('note: "Knows Ada"');
  await userEvent.keyboard("{Home}{Enter}");
  expect(rows()).toHaveLength(1);
});

test("finds and opens matches, marks them, and goes through them in a circle", async () => {
  const { container } = await render(<JsonTreeView value={users} />);
  await row(/^users: /u).click();
  await search.fill("ada");
  await expect.element(page.getByText("1 of 3")).toBeVisible();
  await expect.element(row('name: "Ada"')).toBeVisible();
  expect([...container.querySelectorAll("mark")].map(({ textContent }) => textContent)).toEqual([
    "Ada",
    "Ada",
    "Ada",
  ]);
  expect(row('name: "Ada"').element().getAttribute("aria-selected")).toBe("true");
  await page.getByRole("button", { name: "Next match" }).click();
  expect(row('name: "Adam"').element().getAttribute("aria-selected")).toBe("true");
  await page.getByRole("button", { name: "Previous match" }).click();
  await page.getByRole("button", { name: "Previous match" }).click();
  await expect.element(page.getByText("3 of 3")).toBeVisible();
  await search.click();
  await userEvent.keyboard("{Enter}");
  await expect.element(page.getByText("1 of 3")).toBeVisible();
  await search.fill("nothing of the kind");
  await expect.element(page.getByText("No matches")).toBeVisible();
  await expect.element(page.getByRole("button", { name: "Next match" })).toBeDisabled();
});

test("copies the value and the path of the selected row", async () => {
  const write = vi.spyOn(navigator.clipboard, "writeText").mockResolvedValue();
  await render(<JsonTreeView value={users} />);
  await row('name: "Bob"').click();
  await expect.element(page.getByText("$.users[1].name")).toBeVisible();
  await page.getByRole("button", { name: "Copy path" }).click();
  expect(write).toHaveBeenLastCalledWith("$.users[1].name");
  await row("id: 9007199254740993").click();
  await page.getByRole("button", { name: "Copy value" }).click();
  expect(write).toHaveBeenLastCalledWith("9007199254740993");
});

test("switches between tree and text", async () => {
  await render(<JsonTreeView value={{ degrees: 4 }} />);
  await page.getByRole("button", { name: "Show as text" }).click();
  await expect.element(page.getByText('{ "degrees": 4 }')).toBeVisible();
  expect(rows()).toEqual([]);
  await page.getByRole("button", { name: "Show as tree" }).click();
  await expect.element(row("degrees: 4")).toBeVisible();
});

test("cuts long strings until they are asked for, and keeps the focus", async () => {
  const write = vi.spyOn(navigator.clipboard, "writeText").mockResolvedValue();
  const text = `${"word ".repeat(100)}\nend`;
  await render(<JsonTreeView value={{ text }} />);
  expect(document.body.textContent).not.toContain("end");
  const more = page.getByRole("button", { name: "Show all 504 characters" });
  await more.click();
  expect(document.body.textContent).toContain("end");
  await expect.element(more).not.toBeInTheDocument();
  expect(document.activeElement?.getAttribute("role")).toBe("treeitem");
  await page.getByRole("button", { name: "Copy value" }).click();
  expect(write).toHaveBeenLastCalledWith(text);
});

test("shows markup as text, and invisible characters visibly", async () => {
  const { container } = await render(
    <JsonTreeView value={{ "<b>key</b>": "<img src=x onerror=alert(1)>", hidden: "a\u202Eb" }} />,
  );
  await expect.element(row('<b>key</b>: "<img src=x onerror=alert(1)>"')).toBeVisible();
  expect(container.querySelector("img, b")).toBe(null);
  await expect.element(row('hidden: "a⟨U+202E⟩b"')).toBeVisible();
});

test("two megabytes open at once: only what is open is in the document", async () => {
  const value = Array.from({ length: 20_000 }, (_, n) => ({
    id: n,
    name: `name ${n}`,
    text: "x".repeat(60),
  }));
  const started = performance.now();
  await render(<JsonTreeView value={value} />);
  await expect.element(row(/^0: /u)).toBeVisible();
  expect(rows().length).toBeLessThan(320);
  await search.fill("name 19999");
  await expect.element(row('name: "name 19999"')).toBeVisible();
  expect(performance.now() - started).toBeLessThan(5_000);
  expect(rows().length).toBeLessThan(700);
});

test("is accessible with matches, selection and cut strings", async () => {
  const { container } = await render(<JsonTreeView value={{ ...users, long: "word ".repeat(200) }} />);
  await search.fill("ada");
  await expect.element(page.getByText("1 of 3")).toBeVisible();
  await row('name: "Ada"').hover();
  expect(await accessibilityFaults(container)).toEqual([]);
});
