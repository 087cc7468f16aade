import { expect, test } from "vitest";
import { parseJson, sameJson, stringifyJson } from "./json";

test("whole numbers beyond 2^53 survive reading and writing", () => {
  const text = '{"id":9007199254740993,"small":7,"half":0.5}';
  expect(stringifyJson(parseJson(text))).toBe(text);
});

test("compares values, not the order of names", () => {
  expect(sameJson({ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 })).toBe(true);
  expect(sameJson({ a: 1 }, { a: 1, b: undefined })).toBe(false);
  expect(sameJson([1, 2], [2, 1])).toBe(false);
  expect(sameJson([], {})).toBe(false);
});
