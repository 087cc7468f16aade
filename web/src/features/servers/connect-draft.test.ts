import { expect, test } from "vitest";
import { emptyDraft, headersOf, isComplete } from "./connect-draft";

test("a connection needs a name and a URL that are more than blanks", () => {
  expect(isComplete({ ...emptyDraft, name: "notes", url: "http://x" })).toBe(true);
  expect(isComplete({ ...emptyDraft, name: " ", url: "http://x" })).toBe(false);
});

test("a key becomes a bearer token, and named headers follow", () => {
  expect(headersOf(emptyDraft)).toBeUndefined();
  const headers = [
    { id: 1, name: " X-Team ", value: "a" },
    { id: 2, name: "", value: "lost" },
  ];
  expect(headersOf({ ...emptyDraft, key: " k ", headers })).toEqual({
    Authorization: "Bearer k",
    "X-Team": "a",
  });
});
