import type { GroupField } from "@/components/schema-form/field-model";
import type { Reading } from "@/components/schema-form/read-value";
import { t } from "@/lib/later-texts";

const DATE = /^\d{4}-\d{2}-\d{2}$/u;
const DATE_TIME = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/u;

/** Patterns of the text formats that servers may ask for. */
const FORMATS = {
  email: { fits: (text: string) => /^[^\s@]+@[^\s@]+$/u.test(text), problem: "elicitation.error.email" },
  uri: { fits: (text: string) => URL.canParse(text), problem: "elicitation.error.uri" },
  date: { fits: (text: string) => DATE.test(text) && isDay(text), problem: "elicitation.error.date" },
  "date-time": {
    fits: (text: string) =>
      DATE_TIME.test(text) && isDay(text.slice(0, 10)) && !Number.isNaN(Date.parse(text)),
    problem: "elicitation.error.dateTime",
  },
} as const;

/** Returns the reading with errors for texts of a wrong format. */
export function withFormats(form: GroupField, { value, errors }: Reading): Reading {
  const values = new Map(Object.entries(value as Record<string, unknown>));
  const more = form.fields.flatMap((field): [string, string][] => {
    const text = values.get(field.name);
    if (field.kind !== "text" || typeof text !== "string") return [];
    const format =
      field.format !== undefined && Object.hasOwn(FORMATS, field.format) ? field.format : undefined;
    if (format === undefined) return [];
    const { fits, problem } = FORMATS[format as keyof typeof FORMATS];
    return fits(text) ? [] : [[field.name, t(problem)]];
  });
  return { value, errors: new Map([...more, ...errors]) };
}

/** Returns true if a date exists; `Date` would silently turn the 31st of a shorter month into another day. */
function isDay(text: string): boolean {
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}
