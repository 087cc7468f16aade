import { expect, test } from "vitest";
import { readServiceLanding } from "./service-landing";

test.each([
  ["google-drive", "linked", "ok"],
  ["sign-in", "connected", "ok"],
  ...["google-drive", "sign-in"].flatMap((service) => [
    [service, "denied", "warn"],
    [service, "expired", "err"],
    [service, "failed", "err"],
  ]),
])("%s=%s is told, and leaves the rest of the query", (service, name, tone) => {
  const landing = readServiceLanding(`?tab=servers&${service}=${name}&c=1`);
  expect(landing?.search).toBe("?tab=servers&c=1");
  expect(landing?.outcome?.tone).toBe(tone);
});

test("what is not known is removed without a word", () => {
  expect(readServiceLanding("?google-drive=constructor")).toEqual({ outcome: undefined, search: "" });
});

test("any other query is left alone", () => {
  expect(readServiceLanding("?tab=servers")).toBeUndefined();
  expect(readServiceLanding("")).toBeUndefined();
});
