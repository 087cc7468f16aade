import { expect, test } from "vitest";
import { draftOf, type ModelSettings, settingsOf } from "./settings";

test("what is set goes through the form unchanged, and what is not stays out", () => {
  const all: ModelSettings = {
    system: "Be brief.",
    maxTokens: 900,
    temperature: 0,
    topP: 0.9,
    effort: "low",
  };
  for (const settings of [all, {}, { temperature: 0 }]) {
    expect(settingsOf(draftOf(settings))).toEqual(settings);
  }
  expect(settingsOf({ ...draftOf({}), system: "  \n" })).toEqual({});
});
