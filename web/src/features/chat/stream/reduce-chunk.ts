import { isObject } from "@/lib/json";
import { toToolOutput } from "@/components/tool-result/tool-output";
import {
  type ApprovalRequest,
  type ChatMessage,
  type Part,
  type PendingElicitation,
  toFilePart,
  type ToolPart,
  type ToolTask,
} from "./message";
import type { ModelStatus, StreamChunk } from "./protocol";

/** State of a turn while its stream is read. */
export interface TurnState {
  /** The answer so far; null before its first chunk. */
  readonly message: ChatMessage | null;
  /** Activity of the model; null once text arrives. */
  readonly modelStatus: ModelStatus | null;
  /** Title that this turn gave the chat. */
  readonly title: string | null;
  /** Index of the part of each open text or reasoning id. */
  readonly open: ReadonlyMap<string, number>;
}

export const EMPTY_TURN: TurnState = { message: null, modelStatus: null, title: null, open: new Map() };

const NEW_MESSAGE: ChatMessage = {
  id: "answer",
  role: "assistant",
  createdAt: "",
  parts: [],
  status: "streaming",
  error: null,
  model: null,
};

/**
 * Returns the state after a chunk. Pure and total: a chunk that does not fit the state changes nothing. `now` is in
 * milliseconds since 1970, for times that the stream does not contain.
 */
export function reduceChunk(turn: TurnState, chunk: StreamChunk, now: number): TurnState {
  switch (chunk.type) {
    case "start":
      return startRun(chunk, now);
    case "start-step":
      return appendPart(turn, { type: "step-start" }, now);
    case "finish-step":
      return turn;
    case "finish":
      return closeTurn(turn, chunk.finishReason === "length" ? "length" : "done", null, now);
    case "reset-step":
      return resetStep(turn);
    case "text-start":
      return openPart(turn, chunk.id, { type: "text", text: "", state: "streaming" }, now);
    case "reasoning-start":
      return openPart(
        turn,
        chunk.id,
        { type: "reasoning", text: "", state: "streaming", startedAt: now },
        now,
      );
    case "text-delta":
    case "reasoning-delta":
      return growPart(turn, chunk.type === "text-delta" ? "text" : "reasoning", chunk.id, chunk.delta, now);
    case "text-end":
    case "reasoning-end":
      return endPart(turn, chunk.type === "text-end" ? "text" : "reasoning", chunk.id, now);
    case "tool-input-start":
      return upsertTool(turn, toolFields(chunk, { state: "input-streaming", startedAt: now }), now);
    case "tool-input-delta":
      return updateTool(turn, chunk.toolCallId, (part) => ({
        inputText: part.inputText + chunk.inputTextDelta,
      }));
    case "tool-input-available":
      return upsertTool(
        turn,
        toolFields(chunk, { state: "input-available", input: chunk.input, startedAt: now }),
        now,
      );
    case "tool-input-error":
      return upsertTool(
        turn,
        toolFields(chunk, { state: "output-error", input: chunk.input, errorText: chunk.errorText }),
        now,
      );
    case "tool-output-available":
      return updateTool(turn, chunk.toolCallId, () => ({
        state: "output-available",
        output: toToolOutput(chunk.output),
        ...took(chunk),
      }));
    case "tool-output-error":
      return updateTool(turn, chunk.toolCallId, () => ({
        state: "output-error",
        errorText: chunk.errorText,
        ...(chunk.outcome === "denied" ? { outcome: "denied" } : {}),
        ...took(chunk),
      }));
    case "tool-approval-request":
      return updateTool(turn, chunk.toolCallId, () => ({
        state: "approval-requested",
        approval: approvalRequestOf(chunk),
      }));
    case "tool-approval-response":
      return applyApproval(turn, chunk.approvalId, chunk.approved === true, now);
    case "tool-output-denied":
      return updateTool(turn, chunk.toolCallId, () => ({ state: "output-denied" }));
    case "data-mcp-progress":
      return updateTool(turn, chunk.id, () => ({ progress: chunk.data }));
    case "data-mcp-task":
      return updateTool(turn, chunk.id, () => ({ task: taskOf(chunk.data) }));
    case "data-elicitation":
      return updateTool(turn, chunk.data.toolCallId, (part) => ({
        elicitations: elicitationsAfter(part.elicitations, chunk.id, chunk.data),
      }));
    case "source-url":
      return appendPart(
        turn,
        {
          type: "source-url",
          sourceId: chunk.sourceId,
          url: chunk.url,
          ...(chunk.title === undefined ? {} : { title: chunk.title }),
        },
        now,
      );
    case "file":
      return appendPart({ ...turn, modelStatus: null }, toFilePart(chunk), now);
    case "data-notice":
      return appendPart(turn, { type: "notice", text: chunk.data.text }, now);
    case "data-reply-options":
      return appendPart(turn, { type: "reply-options", options: chunk.data.options }, now);
    case "data-model-status":
      return { ...turn, modelStatus: chunk.data };
    case "data-title":
      return { ...turn, title: chunk.data.title };
    case "abort":
      return closeTurn(turn, "stopped", null, now);
    case "error":
      return closeTurn(turn, "failed", chunk.errorText, now);
  }
}

type ChunkOf<T extends StreamChunk["type"]> = Extract<StreamChunk, { type: T }>;
type ToolChunk = ChunkOf<"tool-input-start"> | ChunkOf<"tool-input-available"> | ChunkOf<"tool-input-error">;
type ToolUpdate = Pick<ToolPart, "toolCallId" | "toolName"> & Partial<ToolPart>;

function startRun(chunk: ChunkOf<"start">, now: number): TurnState {
  const about = isObject(chunk.messageMetadata) ? chunk.messageMetadata : {};
  const createdAt = typeof about.createdAt === "string" ? about.createdAt : new Date(now).toISOString();
  const model = typeof about.model === "string" ? about.model : null;
  const id = typeof chunk.messageId === "string" ? chunk.messageId : NEW_MESSAGE.id;
  return { ...EMPTY_TURN, message: { ...NEW_MESSAGE, id, createdAt, model } };
}

function messageOf(turn: TurnState, now: number): ChatMessage {
  return turn.message ?? { ...NEW_MESSAGE, createdAt: new Date(now).toISOString() };
}

function withParts(turn: TurnState, message: ChatMessage, parts: readonly Part[]): TurnState {
  return { ...turn, message: { ...message, parts } };
}

function appendPart(turn: TurnState, part: Part, now: number): TurnState {
  const message = messageOf(turn, now);
  return withParts(turn, message, [...message.parts, part]);
}

function openPart(turn: TurnState, id: string, part: Part, now: number): TurnState {
  const next = appendPart(turn, part, now);
  const open = new Map(turn.open).set(`${part.type}:${id}`, messageOf(turn, now).parts.length);
  return { ...next, modelStatus: null, open };
}

function growPart(
  turn: TurnState,
  type: "text" | "reasoning",
  id: string,
  delta: string,
  now: number,
): TurnState {
  const index = turn.open.get(`${type}:${id}`);
  if (index === undefined) {
    // A delta without a start still contains text, which must not be lost.
    const opened = openPart(turn, id, { type, text: "", state: "streaming" }, now);
    return growPart(opened, type, id, delta, now);
  }
  return replacePart(turn, index, (part) =>
    part.type === type ? { ...part, text: part.text + delta } : part,
  );
}

function endPart(turn: TurnState, type: "text" | "reasoning", id: string, now: number): TurnState {
  const key = `${type}:${id}`;
  const index = turn.open.get(key);
  if (index === undefined) return turn;
  const open = new Map(turn.open);
  open.delete(key);
  return { ...replacePart(turn, index, (part) => finished(part, now)), open };
}

function finished(part: Part, now: number): Part {
  if (part.type === "text") return { ...part, state: "done" };
  if (part.type === "reasoning") return { ...part, state: "done", endedAt: part.endedAt ?? now };
  return part;
}

function replacePart(turn: TurnState, index: number, change: (part: Part) => Part): TurnState {
  const { message } = turn;
  const part = message?.parts[index];
  if (!message || !part) return turn;
  return withParts(turn, message, message.parts.with(index, change(part)));
}

function took(chunk: { readonly durationMs?: number }): Partial<ToolPart> {
  return typeof chunk.durationMs === "number" ? { durationMs: chunk.durationMs } : {};
}

function toolFields(chunk: ToolChunk, fields: Partial<ToolPart>): ToolUpdate {
  const { serverName, app } = isObject(chunk.toolMetadata) ? chunk.toolMetadata : {};
  return {
    toolCallId: chunk.toolCallId,
    toolName: chunk.toolName,
    ...(typeof serverName === "string" ? { serverName } : {}),
    ...(typeof app === "string" ? { app } : {}),
    ...fields,
  };
}

function approvalRequestOf(chunk: ChunkOf<"tool-approval-request">): ApprovalRequest {
  const about = isObject(chunk.approvalDescriptor) ? chunk.approvalDescriptor : {};
  const { connectionId, serverName, definition, before, instructions } = about;
  return {
    id: chunk.approvalId,
    ...(typeof connectionId === "string" ? { connectionId } : {}),
    ...(typeof serverName === "string" ? { serverName } : {}),
    definition: isObject(definition) ? definition : {},
    ...(isObject(before) ? { before } : {}),
    ...(isObject(instructions) ? { instructions } : {}),
  };
}

function applyApproval(turn: TurnState, approvalId: string, approved: boolean, now: number): TurnState {
  const asked = (part: Part): part is ToolPart =>
    part.type === "dynamic-tool" && part.approval?.id === approvalId;
  const index = turn.message?.parts.findIndex(asked) ?? -1;
  return replacePart(turn, index, (part) =>
    asked(part)
      ? { ...part, ...(approved ? { state: "input-available", startedAt: now } : { state: "output-denied" }) }
      : part,
  );
}

/** Returns the index of a tool call, searching the current step first: models may use an id again in a later step. */
function toolIndex(parts: readonly Part[], toolCallId: string, wholeMessage: boolean): number {
  for (let index = parts.length - 1; index >= 0; index -= 1) {
    const part = parts[index];
    if (part?.type === "dynamic-tool" && part.toolCallId === toolCallId) return index;
    if (part?.type === "step-start" && !wholeMessage) return -1;
  }
  return -1;
}

function upsertTool(turn: TurnState, update: ToolUpdate, now: number): TurnState {
  const index = toolIndex(messageOf(turn, now).parts, update.toolCallId, false);
  const cleared = { ...turn, modelStatus: null };
  if (index < 0)
    return appendPart(
      cleared,
      { type: "dynamic-tool", inputText: "", state: "input-streaming", ...update },
      now,
    );
  return replacePart(cleared, index, (part) =>
    part.type === "dynamic-tool" ? { ...part, ...update } : part,
  );
}

function updateTool(
  turn: TurnState,
  toolCallId: string,
  change: (part: ToolPart) => Partial<ToolPart>,
): TurnState {
  const index = toolIndex(turn.message?.parts ?? [], toolCallId, true);
  if (index < 0) return turn;
  return replacePart(turn, index, (part) =>
    part.type === "dynamic-tool" ? { ...part, ...change(part) } : part,
  );
}

/** Returns the elicitations that are open after one was started or settled. */
function elicitationsAfter(
  open: readonly PendingElicitation[] | undefined,
  id: string,
  data: ChunkOf<"data-elicitation">["data"],
): readonly PendingElicitation[] {
  const others = (open ?? []).filter((elicitation) => elicitation.id !== id);
  return data.state === "waiting" ? [...others, { id, request: data.request }] : others;
}

function taskOf({ startedAt, asks, message }: ChunkOf<"data-mcp-task">["data"]): ToolTask {
  return {
    startedAt: Date.parse(startedAt),
    asks: asks === true,
    ...(typeof message === "string" ? { message } : {}),
  };
}

function resetStep(turn: TurnState): TurnState {
  const { message } = turn;
  if (!message) return turn;
  const step = message.parts.findLastIndex((part) => part.type === "step-start");
  return { ...withParts(turn, message, message.parts.slice(0, step + 1)), open: new Map() };
}

function closeTurn(
  turn: TurnState,
  status: "done" | "length" | "stopped" | "failed",
  error: string | null,
  now: number,
): TurnState {
  const message = messageOf(turn, now);
  if (message.status !== "streaming") return turn;
  const parts = message.parts.map((part) => finished(part, now));
  return { ...turn, modelStatus: null, open: new Map(), message: { ...message, parts, status, error } };
}
