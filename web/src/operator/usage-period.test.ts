import { expect, test } from "vitest";
import { nameOfPeriod, shiftPeriod } from "./usage-period";

test("shifts days and months over the ends of months and years", () => {
  expect(shiftPeriod("day", "2026-03-01", -1)).toBe("2026-02-28");
  expect(shiftPeriod("day", "2026-12-31", 1)).toBe("2027-01-01");
  expect(shiftPeriod("month", "2026-01-31", 1)).toBe("2026-02-01");
  expect(shiftPeriod("month", "2026-01-31", -1)).toBe("2025-12-01");
});

test("names periods in UTC, wherever the operator is", () => {
  expect(nameOfPeriod("month", "2026-11-01")).toBe("November 2026");
  expect(nameOfPeriod("day", "2026-11-01")).toMatch(/Nov 1, 2026|1 Nov 2026/u);
});
