import { type MessageFormatElement, parse, TYPE } from "@formatjs/icu-messageformat-parser";

/** Parameters of a text by name, with what a caller gives for them. */
export type Params = ReadonlyMap<string, "string" | "number" | "date" | "tag">;

/** Returns the parameters of an ICU message, sorted by name. */
export function paramsOf(text: string): Params {
  const params = new Map<string, "string" | "number" | "date" | "tag">();
  for (const element of elementsOf(parse(text))) {
    if (element.type === TYPE.literal || element.type === TYPE.pound) continue;
    const kind = kindOf(element);
    const known = params.get(element.value);
    // A number can be shown as it is and decide the form of a noun, but nothing else has two kinds.
    if (known !== undefined && known !== kind)
      throw new Error(`${element.value} is ${known} and ${kind}: ${text}`);
    params.set(element.value, kind);
  }
  return new Map([...params].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Returns what differs between the texts of a language and the English ones, and what its grammar needs. */
export function compareTexts(
  english: Readonly<Record<string, string>>,
  texts: Readonly<Record<string, string>>,
  language: string,
): string[] {
  const missing = Object.keys(english).filter((key) => !Object.hasOwn(texts, key));
  const findings = missing.map((key) => `${key} is missing`);
  const forms = new Intl.PluralRules(language).resolvedOptions().pluralCategories;
  for (const [key, text] of Object.entries(texts)) {
    const original = english[key];
    if (original === undefined) {
      findings.push(`${key} is not in en.json`);
      continue;
    }
    if (text.trim() === "") findings.push(`${key} is empty`);
    try {
      const [expected, found] = [original, text].map((one) => [...paramsOf(one)].map(String).join("; "));
      if (expected !== found) findings.push(`${key} has the parameters “${found}” instead of “${expected}”`);
      for (const element of elementsOf(parse(text))) {
        if (element.type !== TYPE.plural || element.pluralType === "ordinal") continue;
        const absent = forms.filter((form) => !Object.hasOwn(element.options, form));
        if (absent.length > 0 && !isForSpecification(key, language))
          findings.push(`${key} has no plural form for ${absent.join(", ")}`);
      }
    } catch (error) {
      findings.push(`${key}: ${String(error)}`);
    }
  }
  return findings;
}

/** The specification writes “with 1 tools”. */
function isForSpecification(key: string, language: string): boolean {
  return language === "en" && key === "servers.connected.text";
}

/** Returns the keys that a file has more than once; a JSON parser silently takes the last. */
export function repeatedKeys(json: string): string[] {
  const seen = new Set<string>();
  return [...json.matchAll(/^\s*"((?:[^"\\]|\\.)*)":/gmu)]
    .map(([, key = ""]) => key)
    .filter((key) => seen.size === seen.add(key).size);
}

function kindOf({ type }: MessageFormatElement): "string" | "number" | "date" | "tag" {
  if (type === TYPE.number || type === TYPE.plural) return "number";
  if (type === TYPE.date || type === TYPE.time) return "date";
  return type === TYPE.tag ? "tag" : "string";
}

function elementsOf(elements: readonly MessageFormatElement[]): MessageFormatElement[] {
  return elements.flatMap((element) => {
    if (element.type === TYPE.tag) return [element, ...elementsOf(element.children)];
    if (element.type !== TYPE.plural && element.type !== TYPE.select) return [element];
    return [element, ...Object.values(element.options).flatMap((option) => elementsOf(option.value))];
  });
}
