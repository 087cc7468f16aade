import { showInvisible } from "@/lib/show-invisible";
import { isSchema, type JsonSchema, plainSchema } from "./schema";

/** Properties of all kinds of fields. */
interface FieldBase {
  /** Name of the property; empty for the root and for list items. */
  name: string;
  label: string;
  description: string | undefined;
  required: boolean;
  nullable: boolean;
  /** Default of the schema, or undefined. */
  default: unknown;
}

export interface TextField extends FieldBase {
  kind: "text";
  format: string | undefined;
  pattern: string | undefined;
  minLength: number | undefined;
  maxLength: number | undefined;
}

export interface NumberField extends FieldBase {
  kind: "number";
  integer: boolean;
  minimum: number | undefined;
  maximum: number | undefined;
}

interface BooleanField extends FieldBase {
  kind: "boolean";
}

export interface ChoiceField extends FieldBase {
  kind: "choice";
  /** Allowed values of any type, without duplicates. */
  options: readonly unknown[];
  /** Labels, if they differ from the values. */
  titles?: readonly string[];
}

/** Choice of several texts. */
export interface ManyField extends FieldBase {
  kind: "many";
  options: readonly string[];
  /** Labels of the options. */
  titles: readonly string[];
  minItems: number | undefined;
  maxItems: number | undefined;
}

export interface ListField extends FieldBase {
  kind: "list";
  item: Field;
  minItems: number | undefined;
  maxItems: number | undefined;
}

export interface GroupField extends FieldBase {
  kind: "group";
  fields: readonly Field[];
}

/** Value that a form cannot show: free-form objects, alternatives, tuples. */
interface JsonField extends FieldBase {
  kind: "json";
}

/** Input of a form. */
export type Field =
  | TextField
  | NumberField
  | BooleanField
  | ChoiceField
  | ManyField
  | ListField
  | GroupField
  | JsonField;

/** Deeper structures are edited as JSON, which also ends recursive schemas. */
const MAX_NESTING = 4;

/** Returns the form for a tool's input schema. A missing or unusable schema becomes one JSON field. */
export function formOf(schema: unknown): Field {
  const root: JsonSchema = isSchema(schema) ? schema : {};
  return fieldOf({ type: "object", ...root }, root, { name: "", required: true, depth: 0 });
}

interface Place {
  name: string;
  required: boolean;
  depth: number;
}

function fieldOf(schema: JsonSchema, root: JsonSchema, place: Place): Field {
  const plain = plainSchema(schema, root);
  const shown = plain?.schema ?? schema;
  const base: FieldBase = {
    name: place.name,
    label: readable(shown.title) ?? showInvisible(place.name),
    description: readable(shown.description),
    required: place.required,
    nullable: plain?.nullable ?? false,
    default: shown.default,
  };
  if (plain === undefined || plain.schema.allOf !== undefined || place.depth > MAX_NESTING)
    return { ...base, kind: "json" };
  return typedField(plain.schema, root, place, base);
}

/** Returns a text of a server, if it is one. */
function readable(words: unknown): string | undefined {
  return typeof words === "string" ? showInvisible(words) : undefined;
}

function typedField(schema: JsonSchema, root: JsonSchema, place: Place, base: FieldBase): Field {
  const options = optionsOf(schema, base.nullable);
  if (options !== undefined) return { ...base, kind: "choice", options };
  switch (schema.type) {
    case "string":
      return {
        ...base,
        kind: "text",
        format: schema.format,
        pattern: schema.pattern,
        minLength: schema.minLength,
        maxLength: schema.maxLength,
      };
    case "number":
    case "integer":
      return {
        ...base,
        kind: "number",
        integer: schema.type === "integer",
        minimum: schema.minimum,
        maximum: schema.maximum,
      };
    case "boolean":
      return { ...base, kind: "boolean" };
    case "array":
      return listField(schema, root, place, base);
    case "object":
      return groupField(schema, root, place, base);
    default:
      return { ...base, kind: "json" };
  }
}

function optionsOf(schema: JsonSchema, nullable: boolean): readonly unknown[] | undefined {
  if (schema.const !== undefined) return [schema.const];
  if (schema.enum === undefined || schema.enum.length === 0) return undefined;
  const unique = new Map(schema.enum.map((value) => [JSON.stringify(value), value]));
  if (nullable) unique.set("null", null);
  return [...unique.values()];
}

function listField(schema: JsonSchema, root: JsonSchema, place: Place, base: FieldBase): Field {
  if (!isSchema(schema.items) || schema.prefixItems !== undefined) return { ...base, kind: "json" };
  const item = fieldOf(schema.items, root, { name: "", required: true, depth: place.depth + 1 });
  return { ...base, kind: "list", item, minItems: schema.minItems, maxItems: schema.maxItems };
}

function groupField(schema: JsonSchema, root: JsonSchema, place: Place, base: FieldBase): Field {
  const properties = Object.entries(schema.properties ?? {});
  const open = isSchema(schema.additionalProperties) || schema.additionalProperties === true;
  // An object without named properties accepts any; only at the root does it mean "no arguments".
  if (properties.length === 0 && (open || place.depth > 0)) return { ...base, kind: "json" };
  const required = new Set(schema.required);
  const fields = properties.map(([name, property]) =>
    fieldOf(isSchema(property) ? property : {}, root, {
      name,
      required: required.has(name),
      depth: place.depth + 1,
    }),
  );
  return { ...base, kind: "group", fields };
}
