import { expect, test } from "vitest";
import { byDay, byModel, roundUp, stackUsage, toCsv, type UsageReport, wholeOf } from "./usage";

const row = (day: string, model: string, outputTokens: number, costUsd = 0) => ({
  day,
  model,
  inputTokens: 100,
  cachedInputTokens: 0,
  outputTokens,
  calls: 1,
  estimatedCalls: 0,
  costUsd,
  unpricedCalls: 0,
});

const report: UsageReport = {
  from: "2026-02-27",
  to: "2026-03-02",
  days: [
    row("2026-02-28", "a/small", 1, 0.5),
    row("2026-02-28", 'b/"big",er', 900),
    row("2026-03-02", "a/small", 2, 0.25),
    row("2026-03-02", "=1+1/x", 3),
  ],
  quotas: [],
};

test("every day of the range is told, also the quiet ones", () => {
  expect(byDay(report).map(({ name, total }) => [name, total.outputTokens])).toEqual([
    ["2026-02-27", 0],
    ["2026-02-28", 901],
    ["2026-03-01", 0],
    ["2026-03-02", 5],
  ]);
});

test("models are summed, the busiest first", () => {
  expect(byModel(report).map(({ name, total }) => [name, total.calls, total.costUsd])).toEqual([
    ['b/"big",er', 1, 0],
    ["a/small", 2, 0.75],
    ["=1+1/x", 1, 0],
  ]);
  expect(wholeOf(report.days).inputTokens).toBe(400);
});

test("a table for other programs quotes what it must and holds no formula", () => {
  const lines = toCsv(report).split("\r\n");
  expect(lines[0]).toBe(
    "day,model,inputTokens,cachedInputTokens,outputTokens,calls,estimatedCalls,costUsd,unpricedCalls",
  );
  expect(lines[2]).toBe('2026-02-28,"b/""big"",er",100,0,900,1,0,0,0');
  expect(lines[4]).toBe("2026-03-02,'=1+1/x,100,0,3,1,0,0,0");
});

test("each day is a stack of its models, those with the most first", () => {
  const { series, stacks } = stackUsage(report, "tokens");
  expect(series).toEqual(['b/"big",er', "a/small", "=1+1/x"]);
  expect(stacks).toEqual([
    { day: "2026-02-27", values: [0, 0, 0], total: 0 },
    { day: "2026-02-28", values: [1000, 101, 0], total: 1101 },
    { day: "2026-03-01", values: [0, 0, 0], total: 0 },
    { day: "2026-03-02", values: [0, 102, 103], total: 205 },
  ]);
});

test("a stack of costs has the models with a price only", () => {
  const { series, stacks } = stackUsage(report, "cost");
  expect(series).toEqual(["a/small"]);
  expect(stacks.map(({ total }) => total)).toEqual([0, 0.5, 0, 0.25]);
});

test("models beyond the first five are one series", () => {
  const days = ["g", "f", "e", "d", "c", "b", "a"].map((name, at) => row("2026-03-02", name, at));
  const { series, stacks } = stackUsage({ ...report, days }, "tokens");
  expect(series).toEqual(["a", "b", "c", "d", "e", undefined]);
  expect(stacks.at(-1)?.values).toEqual([106, 105, 104, 103, 102, 201]);
});

test.each([
  [0, 1],
  [0.03, 0.04],
  [1, 1],
  [61, 100],
  [1_101, 2_000],
])("the axis for %d ends at %d", (value, end) => {
  expect(roundUp(value)).toBeCloseTo(end, 10);
});
