import { createContext } from "react";
import { isObject, type JsonObject } from "@/lib/json";

/** Output of a tool. Blocks have the shape that the server sent, so each field is validated before use. */
export interface ToolOutput {
  readonly content: readonly JsonObject[];
  readonly structuredContent?: unknown;
  /** True if the tool reports a failure; the content says which. */
  readonly isError: boolean;
  /** Deviation of the result from the tool's output schema. */
  readonly schemaError?: string;
  /** Metadata for the tool's app. */
  readonly meta?: JsonObject;
  /** File with the whole result, if this one is truncated. */
  readonly whole?: JsonObject;
}

/** Validates the result of a tool. */
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

/** Converts a result back to MCP's format. */
export function fromToolOutput({ content, structuredContent, isError, meta }: ToolOutput): JsonObject {
  return {
    content,
    isError,
    ...(structuredContent !== undefined && { structuredContent }),
    ...(meta && { _meta: meta }),
  };
}

/** Name of the connection that a result came from; empty if unknown. */
export const ResultServer = createContext("");
