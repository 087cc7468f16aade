import { expect, test } from "vitest";
import { type Draft, draftOf, initialDraft } from "./draft";
import { formOf } from "./field-model";
import { readValue } from "./read-value";

function read(schema: unknown, draft: Draft) {
  const { value, errors } = readValue(formOf(schema), draft);
  return { value, errors: Object.fromEntries(errors) };
}

const place = {
  type: "object",
  properties: {
    city: { type: "string", minLength: 2, pattern: "^[A-Z]" },
    days: { type: "integer", minimum: 1, maximum: 14, default: 3 },
    exact: { type: "boolean" },
    unit: { enum: ["C", "F", 5, null] },
    tags: { type: "array", items: { type: "string" }, maxItems: 2 },
    near: {
      type: "object",
      properties: { lat: { type: "number" }, lon: { type: "number" } },
      required: ["lat", "lon"],
    },
  },
  required: ["city"],
};

test("leaves out what is empty and optional, and keeps defaults", () => {
  const draft = { ...(initialDraft(formOf(place)) as Record<string, Draft>), city: "Oslo" };
  expect(read(place, draft)).toEqual({ value: { city: "Oslo", days: 3 }, errors: {} });
});

test("reads every kind of field", () => {
  const draft = {
    city: "Oslo",
    days: "7",
    exact: "false",
    unit: "2",
    tags: ["a", "b"],
    near: { lat: "59.9", lon: "-1e1" },
  };
  expect(read(place, draft).value).toEqual({
    city: "Oslo",
    days: 7,
    exact: false,
    unit: 5,
    tags: ["a", "b"],
    near: { lat: 59.9, lon: -10 },
  });
});

test("says what is wrong, and where", () => {
  const draft = { city: "", days: "1.5", tags: ["a", "b", "c"], near: { lat: "x", lon: "" } };
  expect(Object.keys(read(place, draft).errors).toSorted()).toEqual([
    "city",
    "days",
    "near.lat",
    "near.lon",
    "tags",
  ]);
  expect(read(place, { city: "oslo" }).errors["city"]).toContain("^[A-Z]");
  expect(read(place, { city: "Oslo", days: "0" }).errors["days"]).toBe("This must be at least 1.");
});

test("keeps whole numbers beyond 2^53 exactly", () => {
  const schema = { type: "object", properties: { id: { type: "integer" } } };
  expect(read(schema, { id: "9007199254740993" }).value).toEqual({ id: 9007199254740993n });
  expect(read(schema, { id: "42" }).value).toEqual({ id: 42 });
});

test("an empty required field is null where null is allowed", () => {
  const schema = { type: "object", properties: { note: { type: ["string", "null"] } }, required: ["note"] };
  expect(read(schema, { note: "" })).toEqual({ value: { note: null }, errors: {} });
});

test("shows a value and reads the same value back", () => {
  const value = { city: "Bergen", days: 2, exact: true, unit: null, tags: [], near: { lat: 0, lon: 1 } };
  const { tags: _empty, ...kept } = value;
  const form = formOf(place);
  expect(readValue(form, draftOf(form, value)).value).toEqual(kept);
});

test("a schema that is missing or odd is edited as JSON or has no fields", () => {
  expect(formOf(undefined)).toMatchObject({ kind: "group", fields: [] });
  expect(formOf({ type: "object", additionalProperties: true }).kind).toBe("json");
  expect(read({ type: "object", additionalProperties: true }, '{"a":1}').value).toEqual({ a: 1 });
  expect(Object.values(read({ type: "object", additionalProperties: true }, "{").errors)).toHaveLength(1);
});
