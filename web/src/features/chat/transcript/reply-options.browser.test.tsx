import { expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import { render } from "vitest-browser-react";
import { accessibilityFaults } from "@/testing/axe";
import { SendInChat } from "../chat-context";
import { type ChatMessage, userMessage } from "../stream/message";
import { ReplyOptions } from "./reply-options";

const question = (options: unknown): ChatMessage => ({
  ...userMessage("question", "Which of these tools should I use?", "2026-01-01T00:00:00Z"),
  role: "assistant",
  parts: [{ type: "reply-options", options }],
});

test("a reply is sent once, however often its button is pressed", async () => {
  let accept: (isAccepted: boolean) => void = () => {};
  const send = vi.fn((_reply: string) => new Promise<boolean>((resolve) => (accept = resolve)));
  const { container } = await render(
    <main>
      <SendInChat value={send}>
        <ReplyOptions message={question(["find_files", "search_files", "None of them"])} />
      </SendInChat>
    </main>,
  );
  expect(await accessibilityFaults(container)).toEqual([]);
  await expect.element(page.getByRole("group", { name: "Suggested replies" })).toBeVisible();
  await userEvent.tab();
  await userEvent.tab();
  await userEvent.keyboard("{Enter}{Enter}");
  expect(send.mock.calls).toEqual([["search_files"]]);
  accept(false);
  await expect.element(page.getByRole("button", { name: "find_files" })).toBeEnabled();
  await page.getByRole("button", { name: "find_files" }).click();
  expect(send.mock.calls).toEqual([["search_files"], ["find_files"]]);
});

test("a long reply stays within the page", async () => {
  await page.viewport(320, 600);
  await render(<ReplyOptions message={question(["very_long_name_of_a_tool_".repeat(6)])} />);
  await expect.element(page.getByRole("button")).toBeVisible();
  expect(document.documentElement.scrollWidth).toBeLessThanOrEqual(320);
});

test("anything but texts is left out", async () => {
  await render(<ReplyOptions message={question(["a", "a", 7, null, "", { b: 1 }])} />);
  expect(page.getByRole("button").elements()).toHaveLength(1);
  await render(<ReplyOptions message={question("find_files")} />);
  expect(page.getByRole("button").elements()).toHaveLength(1);
});
