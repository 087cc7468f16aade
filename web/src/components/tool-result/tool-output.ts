import { isObject, type JsonObject } from "@/lib/json";

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
  /** The file with all of it, where this is the beginning. */
  readonly whole?: JsonObject;
}

/** A tool's result from whatever a stream, the database or a call holds. */
export function toToolOutput(value: unknown): ToolOutput {
  if (!isObject(value))
    return { content: [{ type: "text", text: JSON.stringify(value) ?? "" }], isError: false };
  const content = Array.isArray(value["content"]) ? value["content"].filter(isObject) : [];
  const { structuredContent: structured, _meta: meta, whole } = value;
  return {
    content,
    isError: value["isError"] === true,
    ...(structured === undefined ? {} : { structuredContent: structured }),
    ...(typeof value["schemaError"] === "string" && { schemaError: value["schemaError"] }),
    ...(isObject(meta) ? { meta } : {}),
    ...(isObject(whole) ? { whole } : {}),
  };
}
