import { expect, test } from "vitest";
import { kindByLook } from "./kind-by-look";

test.each([
  ["<!doctype html>\n<title>x</title>", "html"],
  ["<!-- made by a tool -->\n<html lang=en></html>", "html"],
  ['<?xml version="1.0"?>\n<svg viewBox="0 0 1 1"></svg>\n', "svg"],
  ["# Notes\n\n- one\n- two", "markdown"],
  ["step,arrivals,service\nintake,4.2,6\nreview,4.2,4.5", "csv"],
  ['name;city;note\n"a";"b";"c; d"\ne;f;g\n', "csv"],
] as const)("recognizes %j", (text, kind) => {
  expect(kindByLook(text)).toBe(kind);
});

test.each([
  "",
  "Plain words.",
  "The tag <html> begins a page.",
  "<svg viewBox=",
  "<p>part of a page</p>",
  "# A comment of a script\nexit 0",
  "First, second, third.\nFourth, fifth, sixth.\nSeventh, eighth, ninth.",
  "a,b\n1,2\n3,4",
  "one,two,three\nfour,five\nsix",
  "1,2,3\n4,5,6\n7,8,9",
])("takes %j for nothing else than text", (text) => {
  expect(kindByLook(text)).toBeUndefined();
});
