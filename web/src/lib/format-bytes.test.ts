import { expect, test } from "vitest";
import { formatBytes } from "./format-bytes";

test.each([
  [0, "0 kB"],
  [999, "1 kB"],
  [1_000, "1 kB"],
  [1_234_567, "1.2 MB"],
  [5e12, "5 TB"],
  [5e15, "5,000 TB"],
])("formats %d bytes", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});
