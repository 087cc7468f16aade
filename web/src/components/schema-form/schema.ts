import { isObject } from "@/lib/json";

/** Part of JSON Schema that forms support; everything else is edited as JSON. */
export interface JsonSchema {
  type?: string | string[];
  title?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  items?: JsonSchema | boolean;
  prefixItems?: unknown[];
  oneOf?: JsonSchema[];
  anyOf?: JsonSchema[];
  allOf?: JsonSchema[];
  $ref?: string;
}

/** Schema without references, with "or null" separated. */
interface PlainSchema {
  schema: JsonSchema;
  nullable: boolean;
}

export function isSchema(value: unknown): value is JsonSchema {
  return isObject(value);
}

/**
 * Resolves local references and separates `null` from types and alternatives. Returns undefined for schemas that no
 * form can show: external and endless references.
 */
export function plainSchema(schema: JsonSchema, root: JsonSchema): PlainSchema | undefined {
  const target = follow(schema, root);
  if (target === undefined) return undefined;
  const choices = target.anyOf ?? target.oneOf;
  if (choices !== undefined) return plainChoice(target, choices, root);
  if (!Array.isArray(target.type)) return { schema: target, nullable: target.type === "null" };
  const types = target.type.filter((type) => type !== "null");
  const [only] = types;
  if (types.length !== 1 || only === undefined) return undefined;
  return { schema: { ...target, type: only }, nullable: types.length < target.type.length };
}

/** Reduces `anyOf: [X, null]` to a nullable X; other alternatives are left to JSON. */
function plainChoice(target: JsonSchema, choices: JsonSchema[], root: JsonSchema): PlainSchema | undefined {
  const others = choices.filter((choice) => choice.type !== "null" && choice.const !== null);
  const [only] = others;
  if (others.length !== 1 || only === undefined) return undefined;
  const { anyOf: _anyOf, oneOf: _oneOf, ...around } = target;
  const inner = plainSchema(only, root);
  if (inner === undefined) return undefined;
  return {
    schema: { ...inner.schema, ...around },
    nullable: inner.nullable || others.length < choices.length,
  };
}

function follow(schema: JsonSchema, root: JsonSchema): JsonSchema | undefined {
  let current = schema;
  const seen = new Set<string>();
  while (current.$ref !== undefined) {
    const { $ref, ...around } = current;
    if (seen.has($ref)) return undefined;
    seen.add($ref);
    const target = lookUp($ref, root);
    if (target === undefined) return undefined;
    current = { ...target, ...around };
  }
  return current;
}

function lookUp(reference: string, root: JsonSchema): JsonSchema | undefined {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let at: unknown = root;
  for (const step of reference.slice(2).split("/")) {
    const key = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
    at =
      typeof at === "object" && at !== null
        ? Object.entries(at).find(([name]) => name === key)?.[1]
        : undefined;
  }
  return isSchema(at) ? at : undefined;
}
