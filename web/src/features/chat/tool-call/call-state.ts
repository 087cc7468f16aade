import type { MessageStatus, ToolPart } from "../stream/message";

/** State of a tool call as shown on its card. */
export type CallState =
  | "writing"
  | "running"
  | "done"
  | "waiting"
  | "failed"
  | "denied"
  | "stopped"
  | "unknown";

/** Returns the state of a tool call; one without an outcome was stopped or is unknown. */
export function callState(part: ToolPart, message: MessageStatus): CallState {
  if (part.outcome) return part.outcome;
  if (part.state === "output-available") return part.output?.isError ? "failed" : "done";
  if (part.state === "output-error") return "failed";
  if (part.state === "output-denied") return "denied";
  if (part.state === "approval-requested") return message === "streaming" ? "waiting" : "stopped";
  if (message === "streaming" && part.elicitations?.length) return "waiting";
  if (message === "streaming") return part.state === "input-streaming" ? "writing" : "running";
  return part.state === "input-available" && message !== "stopped" ? "unknown" : "stopped";
}

/** The product's own tools with which a model finds others; they belong to no connection. */
const TOOL_SEARCH_TOOLS: ReadonlySet<string> = new Set(["search_tools", "get_tool_details"]);

export function isBuiltIn({ toolName, serverName }: ToolPart): boolean {
  return (serverName === undefined || serverName === "") && TOOL_SEARCH_TOOLS.has(toolName);
}

/** Returns the arguments as one line. */
export function argumentsLine(part: ToolPart): string {
  const text = part.input === undefined ? part.inputText : JSON.stringify(part.input);
  return text === "{}" ? "" : text.replaceAll(/\s+/gu, " ").slice(0, 200);
}

/** Longest reason on a closed card, in characters. */
const MAX_REASON_CHARS = 600;

/** Returns the tool's reason for a failed call; empty if there is none. */
export function failureReason({ errorText, output }: ToolPart): string {
  const pieces = output?.content.map(({ text }) => (typeof text === "string" ? text : "")) ?? [];
  const text = errorText ?? pieces.filter((piece) => piece !== "").join(" ");
  return text.trim().replaceAll(/\s+/gu, " ").slice(0, MAX_REASON_CHARS);
}

/** Returns true if the result of a call contains an image. */
export function hasImage({ output }: ToolPart): boolean {
  return output?.content.some(({ type }) => type === "image") === true;
}

/** Longest result on a closed card, in characters. */
const MAX_SHORT_RESULT_CHARS = 160;

/** Returns the result of a call if it is one short line of text that is no JSON; otherwise an empty text. */
export function shortResult({ output }: ToolPart): string {
  const [block, ...others] = output?.content ?? [];
  if (block?.["type"] !== "text" || typeof block["text"] !== "string" || others.length > 0) return "";
  // A block can be for the assistant alone.
  if (block["annotations"] !== undefined || output?.whole !== undefined) return "";
  const text = block["text"].trim();
  return text.length <= MAX_SHORT_RESULT_CHARS && !/[\n\r]|^[[{]/u.test(text) ? text : "";
}

/** Arguments of up to this many characters are shown on one line. */
const MAX_ONE_LINE_CHARS = 64;

/** Returns the arguments, formatted. */
export function argumentsText(part: ToolPart): string {
  if (part.input === undefined) return part.inputText;
  const text = JSON.stringify(part.input, null, 2);
  const line = text.replaceAll(/\n\s*/gu, " ");
  return line.length <= MAX_ONE_LINE_CHARS ? line : text;
}

/** Returns the whole call as JSON, to copy. */
export function callAsJson(part: ToolPart): string {
  const { toolName, serverName, input, output, errorText } = part;
  return JSON.stringify(
    { tool: toolName, server: serverName, arguments: input, result: output, error: errorText },
    null,
    2,
  );
}
