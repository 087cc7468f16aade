import { expect, test } from "vitest";
import { backoffMs } from "./backoff";

test("waits grow, are spread, and stay below the longest", () => {
  const waits = { firstMs: 250, longestMs: 8_000 };
  expect(backoffMs(waits, 0, 0)).toBe(125);
  expect(backoffMs(waits, 0, 0.999)).toBeLessThan(250);
  expect(backoffMs(waits, 3, 0)).toBe(1_000);
  expect(backoffMs(waits, 5_000, 1)).toBe(8_000);
});
