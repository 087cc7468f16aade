import { type JsonObject, parseJson, sameJson } from "@/lib/json";
import type { ToolOutput } from "./tool-output";

/** Returns the object or array that a text is, if it is JSON. */
export function jsonIn(text: string): unknown {
  if (!/^\s*[[{]/u.test(text)) return undefined;
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Returns how to show the structured content: as the result, folded below the text, or not at all. */
export function structuredDisplay({ content, structuredContent }: ToolOutput): "open" | "folded" | "none" {
  if (structuredContent === undefined) return "none";
  // Servers repeat it as text for clients that do not support it.
  const repeats = ({ type, text }: JsonObject) =>
    type === "text" && typeof text === "string" && sameJson(jsonIn(text), structuredContent);
  if (content.some(repeats)) return "none";
  return content.length === 0 ? "open" : "folded";
}
