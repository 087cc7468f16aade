import { expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import { render } from "vitest-browser-react";
import { CopyButton } from "./copy-button";
import { Markdown } from "./markdown";

test("a copy is confirmed on the button and to screen readers", async () => {
  const write = vi.spyOn(navigator.clipboard, "writeText").mockResolvedValue();
  await render(<CopyButton text="1 + 1" label="Copy" />);
  await page.getByRole("button", { name: "Copy", exact: true }).click();
  await expect.element(page.getByRole("status")).toHaveTextContent("Copied");
  await expect.element(page.getByRole("button", { name: "Copied" })).toBeVisible();
  expect(write).toHaveBeenCalledExactlyOnceWith("1 + 1");
});

test("a copy that the browser refuses says so", async () => {
  vi.spyOn(navigator.clipboard, "writeText").mockRejectedValue(new Error("not allowed"));
  await render(<CopyButton text="1 + 1" label="Copy" />);
  await page.getByRole("button", { name: "Copy", exact: true }).click();
  await expect.element(page.getByRole("status")).not.toHaveTextContent("Copied");
  await expect.element(page.getByRole("status")).not.toBeEmptyDOMElement();
  expect(document.querySelector(".lucide-check")).toBeNull();
});

test("a code block is labelled with its language, and copies its code alone", async () => {
  const write = vi.spyOn(navigator.clipboard, "writeText").mockResolvedValue();
  await render(<Markdown text={"Look:\n\n```python\nprint(1)\n```\n"} complete />);
  await expect.element(page.getByText("Python", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: /^Copy/u }).click();
  await vi.waitFor(() => expect(write).toHaveBeenCalledExactlyOnceWith("print(1)"));
});
