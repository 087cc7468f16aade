import { isObject, stringifyJson } from "@/lib/json";
import type { ChoiceField, Field, GroupField } from "./field-model";

/** What stands in the inputs: text as typed, ticks, and the same for lists and groups. */
export type Draft = string | boolean | readonly Draft[] | { readonly [name: string]: Draft };

/** The draft a fresh form begins with. */
export function initialDraft(field: Field): Draft {
  return draftOf(field, field.default);
}

/** The draft that shows `value`; what does not fit the field is shown as if it were absent. */
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

/** A tick where there are two answers, and words where there is a third: not set. */
function booleanDraft(twoValued: boolean, value: unknown): Draft {
  if (twoValued) return value === true;
  return typeof value === "boolean" ? String(value) : "";
}

/** Options are known by their place, so that they need not be text. */
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
      // The value of an object that is being shown is complete; a fresh form starts from the defaults.
      return [child.name, value === undefined ? initialDraft(child) : draftOf(child, own)];
    }),
  );
}
