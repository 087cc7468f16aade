import { expect, test } from "vitest";
import { spokenLanguage } from "./spoken-language";

test.each([
  ["The capital of France is Paris, and it is the largest of its cities.", "de", "en"],
  ["Die Hauptstadt von Frankreich ist Paris und das ist nicht neu.", "en-GB", "de"],
  ["La capitale est Paris, une ville qui est connue pour les musées dans le centre.", "en", "fr"],
  ["La capital es Madrid, y los museos del centro son para todas las personas.", "en", "es"],
  ["The user's variety of the language is kept, and that is it.", "en-GB", "en-GB"],
  ["42", "de-AT", "de-AT"],
  ["Madrid. Paris. Berlin.", "fr", "fr"],
])("%s", (text, page, language) => {
  expect(spokenLanguage(text, page)).toBe(language);
});
