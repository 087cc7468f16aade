import { useSyncExternalStore } from "react";

/** Languages of the page. */
export const languages = ["en", "de"] as const;

export type Language = (typeof languages)[number];

const listeners = new Set<() => void>();
let pageLanguage: Language = "en";
let locale = "en";

/** Returns the language of the page, and renders the component again when it changes. */
export function useLanguage(): Language {
  return useSyncExternalStore(subscribe, readLanguage, readLanguage);
}

/** Returns the locale in which dates and numbers are formatted, such as `en-GB`. */
export function pageLocale(): string {
  return locale;
}

/** Returns the language that `public/before-paint.js` has chosen for this visit. */
export function initialLanguage(): Language {
  return toLanguage(document.documentElement.lang) ?? "en";
}

/** Makes a language that of the page. Its texts must have been loaded. */
export function setPageLanguage(language: Language): void {
  pageLanguage = language;
  locale = localeFor(language, navigator.languages);
  document.documentElement.lang = language;
  for (const listener of listeners) listener();
}

/** Returns the user's variety of a language, which decides how dates and numbers are written, or else the language. */
export function localeFor(language: Language, preferred: readonly string[]): string {
  return preferred.find((tag) => toLanguage(tag) === language) ?? language;
}

/** Returns the language of a tag such as `de-AT`, if the page has it. */
export function toLanguage(tag: string | undefined): Language | undefined {
  const primary = tag?.toLowerCase().split("-")[0];
  return languages.find((language) => language === primary);
}

function readLanguage(): Language {
  return pageLanguage;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
