import { isObject, type JsonObject, parseJson, sameJson, stringifyJson } from "@/lib/json";

/** What a tool gave back. The pieces have the shape that the server gave them: every field is looked at before use. */
export interface ToolOutput {
  readonly content: readonly JsonObject[];
  readonly structuredContent?: unknown;
  /** The tool itself says that it failed; the content says how. */
  readonly isError: boolean;
  /** What of it is not as the tool had announced. */
  readonly schemaError?: string;
  /** What the server adds for the tool's app. */
  readonly meta?: JsonObject;
}

/** A tool's result from whatever a stream, the database or a call holds. */
export function toToolOutput(value: unknown): ToolOutput {
  if (!isObject(value))
    return { content: [{ type: "text", text: JSON.stringify(value) ?? "" }], isError: false };
  const content = Array.isArray(value["content"]) ? value["content"].filter(isObject) : [];
  const { structuredContent: structured, _meta: meta } = value;
  return {
    content,
    isError: value["isError"] === true,
    ...(structured === undefined ? {} : { structuredContent: structured }),
    ...(typeof value["schemaError"] === "string" && { schemaError: value["schemaError"] }),
    ...(isObject(meta) ? { meta } : {}),
  };
}

/** The result in the protocol's own shape again. */
export function fromToolOutput({ content, structuredContent, isError, meta }: ToolOutput): JsonObject {
  return {
    content,
    isError,
    ...(structuredContent !== undefined && { structuredContent }),
    ...(meta && { _meta: meta }),
  };
}

/** Text that is JSON, set out to be read; any other text as it is. */
export function readableText(text: string): string {
  const value = objectIn(text);
  return value === undefined ? text : stringifyJson(value, 2);
}

/** How the structured content is shown: as the result, folded behind words that say it, or not once more. */
export function structuredPlace({ content, structuredContent }: ToolOutput): "open" | "folded" | "none" {
  if (structuredContent === undefined) return "none";
  // Servers repeat it as text for clients that do not know it.
  const repeats = ({ type, text }: JsonObject) =>
    type === "text" && typeof text === "string" && sameJson(objectIn(text), structuredContent);
  if (content.some(repeats)) return "none";
  return content.length === 0 ? "open" : "folded";
}

function objectIn(text: string): unknown {
  if (!/^\s*[[{]/u.test(text)) return undefined;
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
