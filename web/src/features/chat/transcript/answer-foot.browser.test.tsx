import { expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import { render } from "vitest-browser-react";
import { accessibilityFaults } from "@/testing/axe";
import { AnswerFoot } from "./answer-foot";
import { type ChatMessage, userMessage } from "../stream/message";

const answer = (status: ChatMessage["status"]): ChatMessage => ({
  ...userMessage("answer", "Once upon", "2026-01-01T00:00:00Z"),
  role: "assistant",
  status,
});

test("an answer that was cut at the limit says so and can be continued, without an error", async () => {
  const onContinue = vi.fn();
  const { container } = await render(
    <main>
      <AnswerFoot message={answer("length")} isLast onRetry={vi.fn()} onContinue={onContinue}>
        {null}
      </AnswerFoot>
    </main>,
  );
  await expect.element(page.getByText("Cut at the length limit", { exact: true })).toBeVisible();
  await expect.element(page.getByText(/couldn't be completed/u)).not.toBeInTheDocument();
  expect(await accessibilityFaults(container)).toEqual([]);
  await page.getByRole("button", { name: "Continue" }).click();
  expect(onContinue).toHaveBeenCalledOnce();
});

test("a complete answer has no mark", async () => {
  await render(
    <AnswerFoot message={answer("done")} isLast>
      {null}
    </AnswerFoot>,
  );
  await expect.element(page.getByText("Cut at the length limit")).not.toBeInTheDocument();
});
