import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { render } from "vitest-browser-react";
import type { UsageReport } from "./usage";
import { UsageChart } from "./usage-chart";

const row = (day: string, model: string, outputTokens: number, costUsd = 0) => ({
  day,
  model,
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens,
  calls: 1,
  estimatedCalls: 0,
  costUsd,
  unpricedCalls: costUsd > 0 ? 0 : 1,
});

const report: UsageReport = {
  from: "2026-11-01",
  to: "2026-11-10",
  days: [
    row("2026-11-02", "openai/small", 300, 0.25),
    row("2026-11-02", "openai/large", 700, 1.5),
    row("2026-11-10", "local/own", 50),
  ],
  quotas: [],
};

const chart = page.getByRole("slider");

function tooltip(): string | undefined {
  return document.querySelector<HTMLElement>("[data-tooltip]")?.innerText.replaceAll(/\s+/gu, " ");
}

test("arrow keys go through the days, and say the figures of each", async () => {
  await render(<UsageChart report={report} measure="tokens" />);
  await expect.element(chart).toHaveAccessibleName("Tokens per day and model over 10 days");
  await userEvent.tab();
  await expect.element(chart).toHaveFocus();
  await expect
    .element(chart)
    .toHaveAttribute("aria-valuetext", "Nov 10, 2026: 50 tokens; local/own: 50 tokens");
  expect(tooltip()).toBe("Nov 10, 2026 50 tokens local/own 50 tokens");
  await userEvent.keyboard("{Home}{ArrowRight}");
  await expect
    .element(chart)
    .toHaveAttribute(
      "aria-valuetext",
      "Nov 2, 2026: 1,000 tokens; openai/large: 700 tokens; openai/small: 300 tokens",
    );
  await userEvent.keyboard("{ArrowLeft}{ArrowLeft}");
  await expect.element(chart).toHaveAttribute("aria-valuetext", "Nov 1, 2026: 0 tokens");
  await userEvent.keyboard("{PageUp}{PageUp}");
  await expect.element(chart).toHaveAttribute("aria-valuenow", "9");
  await userEvent.tab();
  expect(tooltip()).toBeUndefined();
});

test("the pointer shows the figures of the day below it, which stay within the chart", async () => {
  await render(<UsageChart report={report} measure="cost" />);
  const { width } = chart.element().getBoundingClientRect();
  await chart.hover({ position: { x: width * 0.15, y: 40 } });
  expect(tooltip()).toBe("Nov 2, 2026 $1.75 openai/large $1.50 openai/small $0.25");
  for (const x of [1, width - 1]) {
    await chart.hover({ position: { x, y: 40 } });
    const box = document.querySelector("[data-tooltip]")?.getBoundingClientRect();
    const room = chart.element().getBoundingClientRect();
    expect(box?.left).toBeGreaterThanOrEqual(room.left - 1);
    expect(box?.right).toBeLessThanOrEqual(room.right + 1);
  }
});

test("each model has a colour of its own, which the legend names", async () => {
  await render(<UsageChart report={report} measure="tokens" />);
  const legend = page.getByRole("list", { name: "Models in the chart" });
  await expect.element(legend).toHaveTextContent("openai/largeopenai/smalllocal/own");
  const fills = [...legend.element().querySelectorAll("rect")].map((one) => getComputedStyle(one).fill);
  expect(new Set(fills).size).toBe(3);
  const bars = [...chart.element().querySelectorAll("rect")].map((one) => getComputedStyle(one).fill);
  expect(bars).toEqual([fills[0], fills[1], fills[2]]);
});
