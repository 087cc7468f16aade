import { expect, test } from "vitest";
import { readDriveLanding } from "./drive-landing";

test.each(["linked", "denied", "expired", "failed"])(
  "%s is told, and leaves the rest of the query",
  (name) => {
    const landing = readDriveLanding(`?tab=servers&google-drive=${name}&c=1`);
    expect(landing?.search).toBe("?tab=servers&c=1");
    expect(landing?.outcome?.tone).toBe(name === "linked" ? "ok" : name === "denied" ? "warn" : "err");
  },
);

test("what is not known is removed without a word", () => {
  expect(readDriveLanding("?google-drive=constructor")).toEqual({ outcome: undefined, search: "" });
});

test("any other query is left alone", () => {
  expect(readDriveLanding("?tab=servers")).toBeUndefined();
  expect(readDriveLanding("")).toBeUndefined();
});
