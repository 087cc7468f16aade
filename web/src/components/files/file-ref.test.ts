import { expect, test } from "vitest";
import { formatSize, toFileRef } from "./file-ref";

const file = { url: "/v1/files/0198", mediaType: "image/png", filename: "cat.png", size: 2_400 };

test("only files of this program are ever read", () => {
  expect(toFileRef(file)).toEqual(file);
  expect(toFileRef({ ...file, url: "/api/shared/Ab-1_2/files/7" })).toBeDefined();
  for (const url of [
    "https://a.example/1.png",
    "//a.example/v1/files/1",
    "/v1/files/../api/me",
    "/v1/files/",
    7,
  ])
    expect(toFileRef({ ...file, url })).toBeUndefined();
});

test.each([
  [7, "7 B"],
  [1_499, "1 kB"],
  [999_499, "999 kB"],
  [999_999, "1.0 MB"],
  [10_485_760, "10.5 MB"],
])("%i bytes are %s", (bytes, words) => {
  expect(formatSize(bytes)).toBe(words);
});
