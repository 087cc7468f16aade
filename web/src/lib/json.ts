/**
 * JSON that preserves integers beyond 2^53: they are parsed as `bigint` and written as numbers. The built-in functions
 * would round them silently.
 */

interface Source {
  source?: string;
}

interface RawJson {
  rawJSON?: (text: string) => unknown;
}

/**
 * Parses JSON.
 * @throws {SyntaxError} if the text is not JSON
 */
export function parseJson(text: string): unknown {
  const revive = (_key: string, value: unknown, context?: Source): unknown => {
    const source = context?.source;
    const rounded = typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
    return rounded && source !== undefined && /^-?\d+$/u.test(source) ? BigInt(source) : value;
  };
  return JSON.parse(text, revive);
}

export function stringifyJson(value: unknown, space?: number): string {
  const { rawJSON } = JSON as unknown as RawJson;
  const replace = (_key: string, part: unknown): unknown => {
    if (typeof part !== "bigint") return part;
    return rawJSON === undefined ? part.toString() : rawJSON(part.toString());
  };
  return JSON.stringify(value, replace, space) ?? "null";
}

/** Returns true if two values are the same JSON, regardless of the order of keys. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const left = Object.entries(a);
  const right = new Map(Object.entries(b));
  return (
    left.length === right.size &&
    left.every(([name, value]) => right.has(name) && sameJson(value, right.get(name)))
  );
}

/** JSON object with unknown fields. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Returns true for a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Parses JSON; undefined if the text is none. Large integers are rounded. */
export function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
