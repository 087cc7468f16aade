/**
 * JSON that keeps whole numbers beyond 2^53 as they are: they are read as `bigint` and written as numbers again.
 * The language's own functions would round them without a word.
 */

interface Source {
  source?: string;
}

interface RawJson {
  rawJSON?: (text: string) => unknown;
}

/** @throws {SyntaxError} when the text is not JSON */
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

/** Whether two values mean the same JSON: the order of an object's names does not count. */
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

/** A JSON object whose fields are not known. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a text says as JSON; undefined when it is none. Large whole numbers are rounded. */
export function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
