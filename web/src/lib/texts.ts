import format, { type CompiledMessage, type FormatValues } from "icu-minify/format";
import { createElement, Fragment, type ReactNode } from "react";
import { formatters } from "./intl";
import { type Language, pageLocale, setPageLanguage } from "./language";

type Catalogue = Readonly<Record<string, CompiledMessage>>;
type Part = "first" | "later";
type Load = () => Promise<{ default: Catalogue }>;

const files: Record<Language, Record<Part, Load>> = {
  en: {
    first: () => import("../../messages/en.json?first"),
    later: () => import("../../messages/en.json?later"),
  },
  de: {
    first: () => import("../../messages/de.json?first"),
    later: () => import("../../messages/de.json?later"),
  },
};

let texts: Catalogue = {};
let language: Language = "en";
let later: Promise<void> | undefined;

/** Loads the texts of the first screens and makes their language that of the page. */
export async function loadFirstTexts(wanted: Language): Promise<void> {
  // Known at once to a load of the later texts, which does not wait for this one.
  language = wanted;
  const first = (await files[wanted].first()).default;
  texts = { ...texts, ...first };
  setPageLanguage(wanted);
}

/** Loads the other texts, once for each language. A later call retries a failed load. */
export function loadLaterTexts(): Promise<void> {
  later ??= addLaterTexts(language);
  return later;
}

async function addLaterTexts(wanted: Language): Promise<void> {
  try {
    const added = (await files[wanted].later()).default;
    // Another language may have been chosen in the meantime.
    if (wanted === language) texts = { ...texts, ...added };
    else await loadLaterTexts();
  } catch (cause) {
    if (wanted === language) later = undefined;
    throw cause;
  }
}

/** Changes the language of the page that is shown, when all of its texts are there. */
export async function changeLanguage(wanted: Language): Promise<void> {
  const [first, added] = await Promise.all([files[wanted].first(), files[wanted].later()]);
  language = wanted;
  texts = { ...first.default, ...added.default };
  later = Promise.resolve();
  setPageLanguage(wanted);
}

/** Values of a text: strings, numbers and dates, and functions that render what is between tags. */
export type TextValues = FormatValues<ReactNode>;

/** Formats a text of the page's language. */
export function formatText(key: string, values?: TextValues): ReactNode {
  return format<ReactNode>(texts[key] ?? key, pageLocale(), values, { formatters });
}

/** Formats a text of the page's language that has elements in it. */
export function renderText(key: string, values: TextValues): ReactNode {
  const parts = formatText(key, values);
  return Array.isArray(parts) ? createElement(Fragment, null, ...(parts as ReactNode[])) : parts;
}
