import { expect, test } from "vitest";
import { formatDuration, formatSeconds } from "./format";

test("a duration is told in the units that say the most about it", () => {
  const told = [0, 999, 1_000, 59_900, 60_000, 754_321, 3_599_999, 3_600_000, 90_061_000].map(formatDuration);
  expect(told).toEqual([
    "0 ms",
    "999 ms",
    "1.0 s",
    "59.9 s",
    "1 min 0 s",
    "12 min 34 s",
    "59 min 59 s",
    "1 h 0 min",
    "25 h 1 min",
  ]);
});

test("a running time has no fractions", () => {
  expect([3, 59, 60, 3_600].map(formatSeconds)).toEqual(["3 s", "59 s", "1 min 0 s", "1 h 0 min"]);
});
