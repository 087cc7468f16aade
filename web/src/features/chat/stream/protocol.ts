import { isObject, type JsonObject } from "@/lib/json";

/**
 * Chunks of the UI message stream, version 1, with this product's own parts (`data-…`). Incoming chunks are validated
 * here once, so that no later code has to.
 */

/** Activity of a model before its first token. */
export type ModelStatus =
  | { readonly state: "queued"; readonly ahead: number }
  | {
      readonly state: "loading" | "reading-tools" | "reading";
      readonly done: number;
      readonly total: number;
    }
  | { readonly state: "retrying"; readonly after_ms: number };

/** Metadata in the first chunk of a turn. */
interface TurnMetadata {
  readonly turnId?: string;
  readonly sessionId?: string;
  readonly createdAt?: string;
  readonly model?: string;
}

interface ToolFields {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly toolMetadata?: { readonly serverName?: string; readonly app?: string };
}

export type StreamChunk =
  | { readonly type: "start"; readonly messageId?: string; readonly messageMetadata?: TurnMetadata }
  | { readonly type: "start-step" | "finish-step" | "reset-step" }
  | { readonly type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; readonly id: string }
  | { readonly type: "text-delta" | "reasoning-delta"; readonly id: string; readonly delta: string }
  | ({ readonly type: "tool-input-start" } & ToolFields)
  | { readonly type: "tool-input-delta"; readonly toolCallId: string; readonly inputTextDelta: string }
  | ({ readonly type: "tool-input-available"; readonly input: unknown } & ToolFields)
  | ({ readonly type: "tool-input-error"; readonly input?: unknown; readonly errorText: string } & ToolFields)
  | {
      readonly type: "tool-output-available";
      readonly toolCallId: string;
      readonly output: unknown;
      readonly durationMs?: number;
    }
  | {
      readonly type: "tool-output-error";
      readonly toolCallId: string;
      readonly errorText: string;
      readonly durationMs?: number;
      readonly outcome?: unknown;
    }
  | {
      readonly type: "tool-approval-request";
      readonly approvalId: string;
      readonly toolCallId: string;
      readonly approvalDescriptor?: unknown;
    }
  | { readonly type: "tool-approval-response"; readonly approvalId: string; readonly approved?: unknown }
  | { readonly type: "tool-output-denied"; readonly toolCallId: string }
  | { readonly type: "source-url"; readonly sourceId: string; readonly url: string; readonly title?: string }
  | {
      readonly type: "file";
      readonly url: string;
      readonly mediaType: string;
      readonly filename?: string;
      readonly size?: number;
    }
  | { readonly type: "data-model-status"; readonly data: ModelStatus }
  | { readonly type: "data-notice"; readonly data: { readonly text: string } }
  | { readonly type: "data-reply-options"; readonly data: { readonly options?: unknown } }
  | { readonly type: "data-title"; readonly data: { readonly title: string } }
  | {
      readonly type: "data-mcp-progress";
      readonly id: string;
      readonly data: { readonly progress: number; readonly total?: number; readonly message?: string };
    }
  | {
      readonly type: "data-mcp-task";
      readonly id: string;
      readonly data: { readonly startedAt: string; readonly asks?: unknown; readonly message?: unknown };
    }
  | {
      readonly type: "data-elicitation";
      readonly id: string;
      readonly data: { readonly toolCallId: string; readonly state: string; readonly request?: unknown };
    }
  | { readonly type: "finish"; readonly finishReason?: string }
  | { readonly type: "abort"; readonly reason?: string }
  | { readonly type: "error"; readonly errorText: string };

/** Required fields of each chunk type, with the types of their values. */
const REQUIRED: { readonly [T in StreamChunk["type"]]: Readonly<Record<string, "string" | "object">> } = {
  start: {},
  "start-step": {},
  "finish-step": {},
  "reset-step": {},
  "text-start": { id: "string" },
  "text-delta": { id: "string", delta: "string" },
  "text-end": { id: "string" },
  "reasoning-start": { id: "string" },
  "reasoning-delta": { id: "string", delta: "string" },
  "reasoning-end": { id: "string" },
  "tool-input-start": { toolCallId: "string", toolName: "string" },
  "tool-input-delta": { toolCallId: "string", inputTextDelta: "string" },
  "tool-input-available": { toolCallId: "string", toolName: "string" },
  "tool-input-error": { toolCallId: "string", toolName: "string", errorText: "string" },
  "tool-output-available": { toolCallId: "string" },
  "tool-output-error": { toolCallId: "string", errorText: "string" },
  "tool-approval-request": { approvalId: "string", toolCallId: "string" },
  "tool-approval-response": { approvalId: "string" },
  "tool-output-denied": { toolCallId: "string" },
  "source-url": { sourceId: "string", url: "string" },
  file: { url: "string", mediaType: "string" },
  "data-model-status": { data: "object" },
  "data-notice": { data: "object" },
  "data-reply-options": { data: "object" },
  "data-title": { data: "object" },
  "data-mcp-progress": { id: "string", data: "object" },
  "data-mcp-task": { id: "string", data: "object" },
  "data-elicitation": { id: "string", data: "object" },
  finish: {},
  abort: {},
  error: { errorText: "string" },
};

function isKnownType(type: unknown): type is StreamChunk["type"] {
  return typeof type === "string" && Object.hasOwn(REQUIRED, type);
}

const isCount = (value: unknown): boolean =>
  typeof value === "number" && Number.isFinite(value) && value >= 0;

function isModelStatus(data: JsonObject): boolean {
  switch (data["state"]) {
    case "queued":
      return isCount(data["ahead"]);
    case "loading":
    case "reading-tools":
    case "reading":
      return isCount(data["done"]) && isCount(data["total"]);
    case "retrying":
      return isCount(data["after_ms"]);
    default:
      return false;
  }
}

function isPlausibleData(type: string, data: unknown): boolean {
  if (!isObject(data)) return true;
  if (type === "data-model-status") return isModelStatus(data);
  if (type === "data-notice") return typeof data["text"] === "string";
  if (type === "data-title") return typeof data["title"] === "string";
  if (type === "data-elicitation") return typeof data["toolCallId"] === "string";
  if (type === "data-mcp-progress") return isCount(data["progress"]);
  if (type === "data-mcp-task")
    return typeof data["startedAt"] === "string" && !Number.isNaN(Date.parse(data["startedAt"]));
  return true;
}

/** Parses a chunk; returns null for an unknown or invalid one. */
export function parseChunk(value: unknown): StreamChunk | null {
  if (!isObject(value) || !isKnownType(value["type"])) return null;
  const type = value["type"];
  for (const [field, kind] of Object.entries(REQUIRED[type])) {
    const fits = kind === "string" ? typeof value[field] === "string" : isObject(value[field]);
    if (!fits) return null;
  }
  if (!isPlausibleData(type, value["data"])) return null;
  // All required fields are checked; optional ones are validated where they are used.
  return value as unknown as StreamChunk;
}
