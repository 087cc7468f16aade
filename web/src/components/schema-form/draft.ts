import { isObject, stringifyJson } from "@/lib/json";
import type { ChoiceField, Field, GroupField } from "./field-model";

/** Form state: text as typed, checkboxes, and the same for lists and groups. */
export type Draft = string | boolean | readonly Draft[] | { readonly [name: string]: Draft };

/** Returns the draft of an empty form. */
export function initialDraft(field: Field): Draft {
  return draftOf(field, field.default);
}

/** Returns the draft that shows `value`; parts that do not fit the field are treated as absent. */
export function draftOf(field: Field, value: unknown): Draft {
  switch (field.kind) {
    case "text":
      return typeof value === "string" ? value : "";
    case "number":
      return typeof value === "number" || typeof value === "bigint" ? String(value) : "";
    case "boolean":
      return booleanDraft(field.required || field.default !== undefined, value);
    case "choice":
      return choiceDraft(field, value);
    case "many":
      return field.options.filter((option) => Array.isArray(value) && value.includes(option));
    case "list":
      return Array.isArray(value) ? value.map((item) => draftOf(field.item, item)) : [];
    case "group":
      return groupDraft(field, value);
    case "json":
      return value === undefined ? "" : stringifyJson(value, 2);
  }
}

/** Returns a checkbox for two values, or a choice if "not set" is the third. */
function booleanDraft(twoValued: boolean, value: unknown): Draft {
  if (twoValued) return value === true;
  return typeof value === "boolean" ? String(value) : "";
}

/** Identifies options by index, because they need not be text. */
function choiceDraft(field: ChoiceField, value: unknown): Draft {
  if (value === undefined) return field.required && field.options.length === 1 ? "0" : "";
  const at = field.options.findIndex((option) => JSON.stringify(option) === JSON.stringify(value));
  return at === -1 ? "" : String(at);
}

function groupDraft(field: GroupField, value: unknown): Draft {
  const known = isObject(value) ? value : {};
  return Object.fromEntries(
    field.fields.map((child) => {
      const own = Object.hasOwn(known, child.name) ? known[child.name] : undefined;
      // The value of an existing object is complete; an empty form starts with the defaults.
      return [child.name, value === undefined ? initialDraft(child) : draftOf(child, own)];
    }),
  );
}
