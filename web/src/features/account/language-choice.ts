import { type Language, languages, toLanguage } from "@/lib/language";
import { changeLanguage } from "@/lib/texts";

/** Choice in the settings; with `system` the browser's languages decide. */
type LanguageChoice = "system" | Language;

export const languageChoices: readonly LanguageChoice[] = ["system", ...languages];

/** Key of the local storage, which `public/before-paint.js` reads. */
const storageKey = "language";

/** Returns the choice on this device. */
export function readLanguageChoice(): LanguageChoice {
  return toLanguage(document.documentElement.dataset["language"]) ?? "system";
}

/** Changes the language of the page and stores the choice on this device. */
export async function chooseLanguage(choice: LanguageChoice): Promise<void> {
  await changeLanguage(languageFor(choice, navigator.languages));
  applyChoice(choice);
  try {
    localStorage.setItem(storageKey, choice);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}

function applyChoice(choice: LanguageChoice): void {
  const { dataset } = document.documentElement;
  if (choice === "system") delete dataset["language"];
  else dataset["language"] = choice;
}

/** Takes over the choice of another tab. */
export async function followLanguageChoice(): Promise<void> {
  const choice = toLanguage(localStorage.getItem(storageKey) ?? undefined) ?? "system";
  applyChoice(choice);
  await changeLanguage(languageFor(choice, navigator.languages));
}

/** Returns the language for a choice, given the browser's languages in order of preference. */
export function languageFor(choice: LanguageChoice, preferred: readonly string[]): Language {
  if (choice !== "system") return choice;
  return preferred.map(toLanguage).find((language) => language !== undefined) ?? "en";
}
