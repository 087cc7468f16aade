import { expect, test } from "vitest";
import { whenOf } from "./format-when";

const now = new Date(2026, 10, 21, 14, 5);
const at = (...parts: [number, number, number, number?, number?]) => new Date(...parts).toISOString();

test("today is a time", () => {
  expect(whenOf(at(2026, 10, 21, 9, 40), now)).toMatch(/^0?9:40/u);
});

test("a clock that is ahead makes it no other day", () => {
  expect(whenOf(at(2026, 10, 21, 14, 9), now)).toMatch(/:09/u);
});

test("yesterday is named, by the calendar and not by the hours between", () => {
  expect(whenOf(at(2026, 10, 20, 23, 59), now)).toMatch(/^yesterday, /u);
  expect(whenOf(at(2026, 10, 20, 0, 1), now)).toMatch(/^yesterday, /u);
});

test("within a week it is a weekday, and a date before that", () => {
  expect(whenOf(at(2026, 10, 19, 9), now)).toMatch(/^Thursday/u);
  expect(whenOf(at(2026, 10, 15, 9), now)).toMatch(/^Sunday/u);
  expect(whenOf(at(2026, 10, 14, 9), now)).toMatch(/2026/u);
});
