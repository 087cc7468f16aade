import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { renderWithQueries } from "@/testing/render";
import type { ToolPart } from "../stream/message";
import { ToolGroup } from "./tool-group";

const call = (id: string, fields: Partial<ToolPart> = {}): ToolPart => ({
  type: "dynamic-tool",
  toolCallId: id,
  toolName: `tool_${id}`,
  state: "output-available",
  inputText: "",
  input: {},
  output: { content: [], isError: false },
  durationMs: 2_000,
  ...fields,
});
const three = [call("1"), call("2"), call("3", { durationMs: 2_100 })];
const pill = page.getByRole("button", { name: "3 tools · 6.1 s" });

test("folds three finished calls into one button, which shows them again", async () => {
  await renderWithQueries(<ToolGroup parts={three} messageStatus="done" isOver />);
  await expect.element(pill).toHaveAttribute("aria-expanded", "false");
  expect(page.getByText("tool_1").query()).toBeNull();
  await pill.click();
  await expect.element(page.getByText("tool_1")).toBeVisible();
  await pill.click();
  expect(page.getByText("tool_1").query()).toBeNull();
});

test.each([
  ["two calls", three.slice(1), true],
  ["a failed call", [...three, call("4", { output: { content: [], isError: true } })], true],
  [
    "a call with an image",
    [...three, call("4", { output: { content: [{ type: "image" }], isError: false } })],
    true,
  ],
  ["calls that others may follow", three, false],
])("shows %s as cards", async (_name, parts, isOver) => {
  await renderWithQueries(<ToolGroup parts={parts} messageStatus="streaming" isOver={isOver} />);
  await expect.element(page.getByText("tool_3")).toBeVisible();
  expect(page.getByRole("button", { name: /tools · /u }).query()).toBeNull();
});

test("shows images and short results without being opened", async () => {
  const pixel =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const image = { type: "image", mimeType: "image/png", data: pixel };
  const parts = [
    call("1", { output: { content: [{ type: "text", text: "4 °C" }], isError: false } }),
    call("2", { output: { content: [image], isError: false } }),
  ];
  await renderWithQueries(<ToolGroup parts={parts} messageStatus="done" isOver />);
  await expect.element(page.getByText("4 °C")).toBeVisible();
  await expect.element(page.getByRole("img", { name: "Image from the tool" })).toBeVisible();
  await page.getByRole("button", { name: /^tool_1/u }).click();
  await expect.element(page.getByText("Arguments")).toBeVisible();
  await expect.element(page.getByText("4 °C")).toBeVisible();
});
