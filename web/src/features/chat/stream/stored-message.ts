import { isObject, type JsonObject } from "@/lib/json";
import { toToolOutput } from "@/components/tool-result/tool-output";
import type { AttachmentContent } from "../composer/attachments";
import {
  type AttachmentPart,
  type ChatMessage,
  type FilePart,
  type MessageStatus,
  type Part,
  toFilePart,
  type ToolPart,
} from "./message";

/** Row of `ai_chat_messages`. Its JSON columns are validated before use. */
export interface MessageRow {
  readonly id: string;
  readonly role: string;
  readonly content: string;
  readonly created_at: string;
  readonly tool_calls?: unknown;
  readonly parts?: unknown;
  readonly status?: string | null;
  readonly error?: string | null;
  readonly model?: string | null;
}

const ENDINGS: readonly string[] = [
  "done",
  "length",
  "stopped",
  "failed",
  "interrupted",
] satisfies MessageStatus[];

const asText = (value: unknown): string => (typeof value === "string" ? value : "");

function toToolPart(call: JsonObject): ToolPart {
  const { outcome, serverName, app, durationMs, result, error } = call;
  const failed = typeof error === "string" && error !== "";
  return {
    type: "dynamic-tool",
    toolCallId: asText(call["id"]),
    toolName: asText(call["name"]),
    state: isObject(result) && !failed ? "output-available" : "output-error",
    input: call["arguments"],
    inputText: "",
    ...(typeof serverName === "string" && serverName !== "" ? { serverName } : {}),
    ...(typeof app === "string" ? { app } : {}),
    ...(isObject(result) ? { output: toToolOutput(result) } : {}),
    ...(failed ? { errorText: error } : {}),
    ...(outcome === "unknown" || outcome === "stopped" || outcome === "denied" ? { outcome } : {}),
    // 0 is stored for an interrupted call, whose end is unknown.
    ...(typeof durationMs === "number" && (durationMs > 0 || isObject(result)) ? { durationMs } : {}),
  };
}

function toPart(value: unknown): Part[] {
  if (!isObject(value)) return [];
  if (value["type"] === "text") return [{ type: "text", text: asText(value["text"]), state: "done" }];
  if (value["type"] === "reasoning")
    return [{ type: "reasoning", text: asText(value["text"]), state: "done" }];
  if (value["type"] === "notice") return [{ type: "notice", text: asText(value["text"]) }];
  if (value["type"] === "reply-options") return [{ type: "reply-options", options: value["options"] }];
  if (value["type"] === "file") return [toFilePart(value)];
  if (value["type"] === "tool-call" && isObject(value["call"])) return [toToolPart(value["call"])];
  return [];
}

function partsOf(row: MessageRow): Part[] {
  if (Array.isArray(row.parts) && row.parts.length > 0) return row.parts.flatMap(toPart);
  const calls = Array.isArray(row.tool_calls) ? row.tool_calls.filter(isObject).map(toToolPart) : [];
  return row.content === "" ? calls : [...calls, { type: "text", text: row.content, state: "done" }];
}

/** Returns the attachments in a row of a user message. Only the server writes them. */
function attachedIn({ parts }: MessageRow): (AttachmentPart | FilePart)[] {
  if (!Array.isArray(parts)) return [];
  return parts.filter(isObject).flatMap((part): (AttachmentPart | FilePart)[] => {
    if (part["type"] === "file") return [toFilePart(part)];
    if (!isObject(part["attachment"])) return [];
    const content = part["attachment"] as unknown as AttachmentContent;
    return [{ ...content, type: "attachment", content }];
  });
}

/** Converts a row to a message of the transcript. */
export function fromRow(row: MessageRow): ChatMessage {
  const isUser = row.role === "user";
  const status = ENDINGS.includes(row.status ?? "") ? (row.status as MessageStatus) : "done";
  return {
    id: row.id,
    role: isUser ? "user" : "assistant",
    createdAt: row.created_at,
    parts: isUser ? [...attachedIn(row), { type: "text", text: row.content, state: "done" }] : partsOf(row),
    status,
    error: row.error ?? null,
    model: row.model ?? null,
  };
}

/**
 * Returns reloaded messages, with unchanged ones replaced by the known objects, so that their rows are not rendered
 * again.
 */
export function reuseUnchanged(
  known: readonly ChatMessage[],
  fresh: readonly ChatMessage[],
): readonly ChatMessage[] {
  const before = new Map(known.map((message) => [message.id, message]));
  return fresh.map((message) => {
    const same = before.get(message.id);
    return same && JSON.stringify(same) === JSON.stringify(message) ? same : message;
  });
}
