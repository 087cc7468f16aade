import { type JsonObject, parseJson, sameJson, stringifyJson } from "@/lib/json";
import type { ToolOutput } from "./tool-output";

/** Formats a text that is JSON; returns any other text unchanged. */
export function readableText(text: string): string {
  const value = objectIn(text);
  return value === undefined ? text : stringifyJson(value, 2);
}

/** Returns how to show the structured content: as the result, folded below the text, or not at all. */
export function structuredDisplay({ content, structuredContent }: ToolOutput): "open" | "folded" | "none" {
  if (structuredContent === undefined) return "none";
  // Servers repeat it as text for clients that do not support it.
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
