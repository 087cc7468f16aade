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

/** State of a run while its stream is read. */
export interface RunState {
  /** The answer so far; null before its first chunk. */
  readonly message: ChatMessage | null;
  /** Activity of the model; null once text arrives. */
  readonly modelStatus: ModelStatus | null;
  /** Title that this run gave the chat. */
  readonly title: string | null;
  /** Index of the part of each open text or reasoning id. */
  readonly open: ReadonlyMap<string, number>;
}

export const EMPTY_RUN: RunState = { message: null, modelStatus: null, title: null, open: new Map() };

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
export function reduceChunk(run: RunState, chunk: StreamChunk, now: number): RunState {
  switch (chunk.type) {
    case "start":
      return startRun(chunk, now);
    case "start-step":
      return appendPart(run, { type: "step-start" }, now);
    case "finish-step":
    case "finish":
      return chunk.type === "finish" ? closeRun(run, "done", null, now) : run;
    case "reset-step":
      return resetStep(run);
    case "text-start":
      return openPart(run, chunk.id, { type: "text", text: "", state: "streaming" }, now);
    case "reasoning-start":
      return openPart(
        run,
        chunk.id,
        { type: "reasoning", text: "", state: "streaming", startedAt: now },
        now,
      );
    case "text-delta":
    case "reasoning-delta":
      return growPart(run, chunk.type === "text-delta" ? "text" : "reasoning", chunk.id, chunk.delta, now);
    case "text-end":
    case "reasoning-end":
      return endPart(run, chunk.type === "text-end" ? "text" : "reasoning", chunk.id, now);
    case "tool-input-start":
      return upsertTool(run, toolFields(chunk, { state: "input-streaming", startedAt: now }), now);
    case "tool-input-delta":
      return updateTool(run, chunk.toolCallId, (part) => ({
        inputText: part.inputText + chunk.inputTextDelta,
      }));
    case "tool-input-available":
      return upsertTool(
        run,
        toolFields(chunk, { state: "input-available", input: chunk.input, startedAt: now }),
        now,
      );
    case "tool-input-error":
      return upsertTool(
        run,
        toolFields(chunk, { state: "output-error", input: chunk.input, errorText: chunk.errorText }),
        now,
      );
    case "tool-output-available":
      return updateTool(run, chunk.toolCallId, () => ({
        state: "output-available",
        output: toToolOutput(chunk.output),
        ...took(chunk),
      }));
    case "tool-output-error":
      return updateTool(run, chunk.toolCallId, () => ({
        state: "output-error",
        errorText: chunk.errorText,
        ...(chunk.outcome === "denied" ? { outcome: "denied" } : {}),
        ...took(chunk),
      }));
    case "tool-approval-request":
      return updateTool(run, chunk.toolCallId, () => ({
        state: "approval-requested",
        approval: approvalRequestOf(chunk),
      }));
    case "tool-approval-response":
      return applyApproval(run, chunk.approvalId, chunk.approved === true, now);
    case "tool-output-denied":
      return updateTool(run, chunk.toolCallId, () => ({ state: "output-denied" }));
    case "data-mcp-progress":
      return updateTool(run, chunk.id, () => ({ progress: chunk.data }));
    case "data-mcp-task":
      return updateTool(run, chunk.id, () => ({ task: taskOf(chunk.data) }));
    case "data-elicitation":
      return updateTool(run, chunk.data.toolCallId, (part) => ({
        elicitations: elicitationsAfter(part.elicitations, chunk.id, chunk.data),
      }));
    case "source-url":
      return appendPart(
        run,
        {
          type: "source-url",
          sourceId: chunk.sourceId,
          url: chunk.url,
          ...(chunk.title === undefined ? {} : { title: chunk.title }),
        },
        now,
      );
    case "file":
      return appendPart({ ...run, modelStatus: null }, toFilePart(chunk), now);
    case "data-notice":
      return appendPart(run, { type: "notice", text: chunk.data.text }, now);
    case "data-model-status":
      return { ...run, modelStatus: chunk.data };
    case "data-title":
      return { ...run, title: chunk.data.title };
    case "abort":
      return closeRun(run, "stopped", null, now);
    case "error":
      return closeRun(run, "failed", chunk.errorText, now);
  }
}

type ChunkOf<T extends StreamChunk["type"]> = Extract<StreamChunk, { type: T }>;
type ToolChunk = ChunkOf<"tool-input-start"> | ChunkOf<"tool-input-available"> | ChunkOf<"tool-input-error">;
type ToolUpdate = Pick<ToolPart, "toolCallId" | "toolName"> & Partial<ToolPart>;

function startRun(chunk: ChunkOf<"start">, now: number): RunState {
  const about = isObject(chunk.messageMetadata) ? chunk.messageMetadata : {};
  const createdAt = typeof about.createdAt === "string" ? about.createdAt : new Date(now).toISOString();
  const model = typeof about.model === "string" ? about.model : null;
  const id = typeof chunk.messageId === "string" ? chunk.messageId : NEW_MESSAGE.id;
  return { ...EMPTY_RUN, message: { ...NEW_MESSAGE, id, createdAt, model } };
}

function messageOf(run: RunState, now: number): ChatMessage {
  return run.message ?? { ...NEW_MESSAGE, createdAt: new Date(now).toISOString() };
}

function withParts(run: RunState, message: ChatMessage, parts: readonly Part[]): RunState {
  return { ...run, message: { ...message, parts } };
}

function appendPart(run: RunState, part: Part, now: number): RunState {
  const message = messageOf(run, now);
  return withParts(run, message, [...message.parts, part]);
}

function openPart(run: RunState, id: string, part: Part, now: number): RunState {
  const next = appendPart(run, part, now);
  const open = new Map(run.open).set(`${part.type}:${id}`, messageOf(run, now).parts.length);
  return { ...next, modelStatus: null, open };
}

function growPart(
  run: RunState,
  type: "text" | "reasoning",
  id: string,
  delta: string,
  now: number,
): RunState {
  const index = run.open.get(`${type}:${id}`);
  if (index === undefined) {
    // A delta without a start still contains text, which must not be lost.
    const opened = openPart(run, id, { type, text: "", state: "streaming" }, now);
    return growPart(opened, type, id, delta, now);
  }
  return replacePart(run, index, (part) =>
    part.type === type ? { ...part, text: part.text + delta } : part,
  );
}

function endPart(run: RunState, type: "text" | "reasoning", id: string, now: number): RunState {
  const key = `${type}:${id}`;
  const index = run.open.get(key);
  if (index === undefined) return run;
  const open = new Map(run.open);
  open.delete(key);
  return { ...replacePart(run, index, (part) => finished(part, now)), open };
}

function finished(part: Part, now: number): Part {
  if (part.type === "text") return { ...part, state: "done" };
  if (part.type === "reasoning") return { ...part, state: "done", endedAt: part.endedAt ?? now };
  return part;
}

function replacePart(run: RunState, index: number, change: (part: Part) => Part): RunState {
  const { message } = run;
  const part = message?.parts[index];
  if (!message || !part) return run;
  return withParts(run, message, message.parts.with(index, change(part)));
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
  const { definition, before, instructions } = about;
  return {
    id: chunk.approvalId,
    definition: isObject(definition) ? definition : {},
    ...(isObject(before) ? { before } : {}),
    ...(isObject(instructions) ? { instructions } : {}),
  };
}

function applyApproval(run: RunState, approvalId: string, approved: boolean, now: number): RunState {
  const asked = (part: Part): part is ToolPart =>
    part.type === "dynamic-tool" && part.approval?.id === approvalId;
  const index = run.message?.parts.findIndex(asked) ?? -1;
  return replacePart(run, index, (part) =>
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

function upsertTool(run: RunState, update: ToolUpdate, now: number): RunState {
  const index = toolIndex(messageOf(run, now).parts, update.toolCallId, false);
  const cleared = { ...run, modelStatus: null };
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
  run: RunState,
  toolCallId: string,
  change: (part: ToolPart) => Partial<ToolPart>,
): RunState {
  const index = toolIndex(run.message?.parts ?? [], toolCallId, true);
  if (index < 0) return run;
  return replacePart(run, index, (part) =>
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

function resetStep(run: RunState): RunState {
  const { message } = run;
  if (!message) return run;
  const step = message.parts.findLastIndex((part) => part.type === "step-start");
  return { ...withParts(run, message, message.parts.slice(0, step + 1)), open: new Map() };
}

function closeRun(
  run: RunState,
  status: "done" | "stopped" | "failed",
  error: string | null,
  now: number,
): RunState {
  const message = messageOf(run, now);
  if (message.status !== "streaming") return run;
  const parts = message.parts.map((part) => finished(part, now));
  return { ...run, modelStatus: null, open: new Map(), message: { ...message, parts, status, error } };
}
