import { expect, test } from "vitest";
import { readServiceRedirect } from "./service-redirect-result";

test.each([
  ["google-drive", "linked", "ok"],
  ["sign-in", "connected", "ok"],
  ...["google-drive", "sign-in"].flatMap((service) => [
    [service, "denied", "warn"],
    [service, "expired", "err"],
    [service, "failed", "err"],
  ]),
])("%s=%s is told, and leaves the rest of the query", (service, name, tone) => {
  const redirect = readServiceRedirect(`?tab=servers&${service}=${name}&c=1`);
  expect(redirect?.search).toBe("?tab=servers&c=1");
  expect(redirect?.outcome?.tone).toBe(tone);
});

test("what is not known is removed without a word", () => {
  expect(readServiceRedirect("?google-drive=constructor")).toEqual({ outcome: undefined, search: "" });
});

test("any other query is left alone", () => {
  expect(readServiceRedirect("?tab=servers")).toBeUndefined();
  expect(readServiceRedirect("")).toBeUndefined();
});
