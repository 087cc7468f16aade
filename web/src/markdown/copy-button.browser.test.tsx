import { expect, onTestFinished, test, vi } from "vitest";
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

test("a second copy is confirmed for as long as the first", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const write = vi.spyOn(navigator.clipboard, "writeText").mockResolvedValue();
  await render(<CopyButton text="1 + 1" label="Copy" />);
  const button = page.getByRole("button");
  const status = page.getByRole("status");
  await button.click();
  await expect.element(status).toHaveTextContent("Copied");
  await vi.advanceTimersByTimeAsync(1_500);
  await button.click();
  await expect.poll(() => write.mock.calls.length).toBe(2);
  await vi.advanceTimersByTimeAsync(1_500);
  // What the end of the first time would change is drawn by then.
  await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  await expect.element(status).toHaveTextContent("Copied");
  await vi.advanceTimersByTimeAsync(1_500);
  await expect.element(status).toBeEmptyDOMElement();
});

test("a code block is labelled with its language, and copies its code alone", async () => {
  const write = vi.spyOn(navigator.clipboard, "writeText").mockResolvedValue();
  await render(<Markdown text={"Look:\n\n```python\nprint(1)\n```\n"} complete />);
  await expect.element(page.getByText("Python", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: /^Copy/u }).click();
  await vi.waitFor(() => expect(write).toHaveBeenCalledExactlyOnceWith("print(1)"));
});
