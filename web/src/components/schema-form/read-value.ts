import { parseJson, sameJson } from "@/lib/json";
import { t } from "@/lib/later-texts";
import type { Params, PartKey } from "@/lib/t";
import { type Draft, initialDraft } from "./draft";
import type {
  ChoiceField,
  Field,
  GroupField,
  ListField,
  ManyField,
  NumberField,
  TextField,
} from "./field-model";

/** Error messages by the path of the field: names and indices, joined by dots. */
export type FieldErrors = ReadonlyMap<string, string>;

/** Result of reading a form; the value is undefined if the field is left out. */
export interface Reading {
  value: unknown;
  errors: FieldErrors;
}

/** Converts a draft to the value to send, with errors for invalid fields. */
export function readValue(field: Field, draft: Draft): Reading {
  const errors = new Map<string, string>();
  return { value: read(field, draft, "", errors), errors };
}

/** Returns the path of a field inside another. */
export function pathOf(parent: string, name: string | number): string {
  return parent === "" ? String(name) : `${parent}.${name}`;
}

function read(field: Field, draft: Draft, path: string, errors: Map<string, string>): unknown {
  const fail: Fail = (key, ...params) => {
    errors.set(path, t(key, ...params));
  };
  switch (field.kind) {
    case "list":
      return readList(field, draft, path, errors);
    case "many":
      return readMany(field, draft, fail);
    case "group":
      return readGroup(field, draft, path, errors);
    case "boolean":
      if (typeof draft === "boolean") return draft;
      return draft === "" ? undefined : draft === "true";
    case "text":
    case "number":
    case "choice":
    case "json":
      return typeof draft === "string" && draft !== ""
        ? readText(field, draft, fail)
        : readEmpty(field, fail);
  }
}

type Fail = <Key extends PartKey<"form">>(key: Key, ...params: Params<Key>) => undefined;

/** Returns the value of an empty field: an optional one is left out, a required one is null where allowed. */
function readEmpty(field: Field, fail: Fail): unknown {
  if (!field.required) return undefined;
  return field.nullable ? null : fail("form.error.required");
}

function readText(
  field: Exclude<Field, GroupField | ListField | ManyField>,
  text: string,
  fail: Fail,
): unknown {
  if (field.kind === "number") return readNumber(field, text.trim(), fail);
  if (field.kind === "choice") return readChoice(field, text);
  if (field.kind === "json") return readJson(text, fail);
  return field.kind === "text" ? readString(field, text, fail) : undefined;
}

function readString(field: TextField, text: string, fail: Fail): unknown {
  const length = [...text].length;
  if (field.minLength !== undefined && length < field.minLength) {
    return fail("form.error.minLength", { limit: field.minLength });
  }
  if (field.maxLength !== undefined && length > field.maxLength) {
    return fail("form.error.maxLength", { limit: field.maxLength });
  }
  if (field.pattern !== undefined && !matches(field.pattern, text)) {
    return fail("form.error.pattern", { pattern: field.pattern });
  }
  return text;
}

/** Tests a pattern; one that this engine cannot compile is left to the server. */
function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    return true;
  }
}

function readNumber(field: NumberField, text: string, fail: Fail): unknown {
  const number = Number(text);
  if (text === "" || !Number.isFinite(number)) return fail("form.error.number");
  if (field.integer && !Number.isInteger(number)) return fail("form.error.integer");
  if (field.minimum !== undefined && number < field.minimum)
    return fail("form.error.minimum", { limit: field.minimum });
  if (field.maximum !== undefined && number > field.maximum)
    return fail("form.error.maximum", { limit: field.maximum });
  // Beyond 2^53 a number would silently become another.
  const exact = Number.isSafeInteger(number) || !/^[+-]?\d+$/u.test(text);
  return exact ? number : BigInt(text.replace(/^\+/u, ""));
}

function readChoice(field: ChoiceField, text: string): unknown {
  return field.options[Number(text)];
}

function readJson(text: string, fail: Fail): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    return fail("form.error.json", { reason: error instanceof Error ? error.message : "" });
  }
}

function readMany(field: ManyField, draft: Draft, fail: Fail): unknown {
  const chosen = field.options.filter((option) => Array.isArray(draft) && draft.includes(option));
  if (chosen.length === 0 && !field.required) return undefined;
  if (chosen.length < (field.minItems ?? 0))
    return fail("form.error.minItems", { limit: field.minItems ?? 0 });
  if (field.maxItems !== undefined && chosen.length > field.maxItems)
    return fail("form.error.maxItems", { limit: field.maxItems });
  return chosen;
}

function readList(field: ListField, draft: Draft, path: string, errors: Map<string, string>): unknown {
  const items: readonly Draft[] = Array.isArray(draft) ? draft : [];
  if (items.length === 0 && !field.required) return undefined;
  if (items.length === 0 && field.nullable) return null;
  if (field.minItems !== undefined && items.length < field.minItems) {
    errors.set(path, t("form.error.minItems", { limit: field.minItems }));
  }
  if (field.maxItems !== undefined && items.length > field.maxItems) {
    errors.set(path, t("form.error.maxItems", { limit: field.maxItems }));
  }
  return items.map((item, index) => read(field.item, item, pathOf(path, index), errors));
}

function readGroup(field: GroupField, draft: Draft, path: string, errors: Map<string, string>): unknown {
  // An untouched optional object is left out, together with its required parts.
  const untouched = draft === "" || sameJson(draft, initialDraft(field));
  if (!field.required && field.default === undefined && untouched) return undefined;
  const parts = new Map(typeof draft === "object" && !Array.isArray(draft) ? Object.entries(draft) : []);
  const entries = field.fields.map((child) => {
    const part = parts.get(child.name) ?? "";
    return [child.name, read(child, part, pathOf(path, child.name), errors)] as const;
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
