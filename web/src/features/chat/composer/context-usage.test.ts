import { expect, test } from "vitest";
import { estimateContext } from "./context-usage";

const usage = (inputTokens: number, outputTokens: number, calls: number) => ({
  inputTokens,
  outputTokens,
  calls,
  cachedInputTokens: 0,
  estimatedCalls: 0,
  costUsd: 0,
  unpricedCalls: 0,
});

test("the context after one call is what the model read and wrote", () => {
  expect(estimateContext(usage(1_000, 200, 1))).toBe(1_200);
});

test("the context after several calls is that of the last one, not their sum", () => {
  // 1,000 tokens are read, then 1,100, then 1,200; each call writes 100.
  expect(estimateContext(usage(3_300, 300, 3))).toBe(1_300);
});

test("without a recorded call the context is unknown", () => {
  expect(estimateContext(usage(0, 0, 0))).toBeUndefined();
});
