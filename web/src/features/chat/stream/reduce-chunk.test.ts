import { readUIMessageStream, type UIMessageChunk } from "ai";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Part } from "./message";
import { parseChunk, type StreamChunk } from "./protocol";
import { EMPTY_TURN, reduceChunk, type TurnState } from "./reduce-chunk";

const reduceAll = (chunks: readonly unknown[], now = 1_000): TurnState =>
  chunks.reduce<TurnState>((state, value) => {
    const chunk = parseChunk(value);
    return chunk ? reduceChunk(state, chunk, now) : state;
  }, EMPTY_TURN);

/** The parts in the fields that both sides have. */
function ours(parts: readonly Part[]): unknown[] {
  return parts.map((part) => {
    if (part.type === "text" || part.type === "reasoning")
      return { type: part.type, text: part.text, state: part.state };
    if (part.type !== "dynamic-tool") return part;
    const { type, toolCallId, toolName, state, output, errorText, serverName } = part;
    return {
      type,
      toolCallId,
      toolName,
      state,
      serverName,
      ...(state === "input-streaming" ? {} : { input: part.input }),
      output,
      errorText,
    };
  });
}

async function theirs(chunks: readonly UIMessageChunk[]): Promise<unknown[]> {
  let parts: readonly object[] = [];
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  for await (const message of readUIMessageStream({ stream, onError: () => undefined })) {
    parts = message.parts;
  }
  return parts.map((value) => {
    const part = value as Record<string, unknown>;
    if (part["type"] === "text" || part["type"] === "reasoning")
      return { type: part["type"], text: part["text"], state: part["state"] };
    if (part["type"] !== "dynamic-tool") return part;
    const { type, toolCallId, toolName, state, input, output, errorText, toolMetadata } = part;
    const { serverName } = toolMetadata as { serverName: string };
    return {
      type,
      toolCallId,
      toolName,
      state,
      serverName,
      ...(state === "input-streaming" ? {} : { input }),
      output,
      errorText,
    };
  });
}

const word = fc.string({ maxLength: 12 });
const output = fc.record({
  content: fc.array(fc.record({ type: fc.constant("text"), text: word })),
  isError: fc.boolean(),
});

function speech(kind: "text" | "reasoning", id: string) {
  return fc
    .array(word, { maxLength: 6 })
    .map((deltas) => [
      { type: `${kind}-start`, id },
      ...deltas.map((delta) => ({ type: `${kind}-delta`, id, delta })),
      { type: `${kind}-end`, id },
    ]);
}

function call(toolCallId: string) {
  const base = { toolCallId, toolName: "search", dynamic: true, toolMetadata: { serverName: "notes" } };
  const written = fc
    .array(word, { maxLength: 4 })
    .map((pieces) => [
      { type: "tool-input-start", ...base },
      ...pieces.map((inputTextDelta) => ({ type: "tool-input-delta", toolCallId, inputTextDelta })),
    ]);
  const ending = fc.oneof(
    output.map((value) => [
      { type: "tool-input-available", ...base, input: { q: 1 } },
      { type: "data-mcp-progress", id: toolCallId, transient: true, data: { progress: 1, total: 2 } },
      { type: "tool-output-available", toolCallId, output: value, durationMs: 5 },
    ]),
    word.map((errorText) => [
      { type: "tool-input-available", ...base, input: { q: 1 } },
      { type: "tool-output-error", toolCallId, errorText, durationMs: 5 },
    ]),
    word.map((errorText) => [{ type: "tool-input-error", ...base, input: "{", errorText }]),
    fc.constant([{ type: "tool-input-available", ...base, input: { q: 1 } }]),
    fc.constant([]),
  );
  return fc.tuple(written, ending).map(([start, end]) => [...start, ...end]);
}

/** Chunks of several parts, each in its own order, mixed as parallel calls are. */
function interleaved(lists: readonly (readonly object[])[], picks: readonly number[]): object[] {
  const rest = lists.map((list) => [...list]).filter((list) => list.length > 0);
  const mixed: object[] = [];
  for (let turn = 0; rest.length > 0; turn += 1) {
    const index = (picks[turn % picks.length] ?? 0) % rest.length;
    const next = rest[index]?.shift();
    if (next) mixed.push(next);
    if (rest[index]?.length === 0) rest.splice(index, 1);
  }
  return mixed;
}

const picks = fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 30 });
const status = { type: "data-model-status", transient: true, data: { state: "loading", done: 3, total: 28 } };

const step = (number: number) =>
  fc
    .tuple(
      speech("reasoning", `r${number}`),
      speech("text", `t${number}`),
      call(`a${number}`),
      call(`b${number}`),
      picks,
    )
    .map(([reasoning, text, a, b, order]) => [
      { type: "start-step" },
      status,
      ...reasoning,
      ...interleaved([text, a, b], order),
      { type: "finish-step" },
    ]);

const legalStream = fc
  .tuple(step(1), step(2), fc.boolean())
  .map(([one, two, second]) => [
    { type: "start", messageId: "m1" },
    ...one,
    ...(second ? two : []),
    { type: "finish", finishReason: "stop" },
  ]);

test("gives the parts that the reference client gives, for any legal stream", async () => {
  await fc.assert(
    fc.asyncProperty(legalStream, async (chunks) => {
      const expected = await theirs(chunks as UIMessageChunk[]);
      expect(ours(reduceAll(chunks).message?.parts ?? [])).toEqual(expected);
    }),
    { numRuns: 150 },
  );
});

test("never throws and never loses the message, whatever arrives", () => {
  const types = [
    "start",
    "text-start",
    "text-delta",
    "text-end",
    "tool-input-start",
    "tool-input-delta",
    "tool-input-available",
    "tool-output-available",
    "data-model-status",
    "data-mcp-progress",
    "data-mcp-task",
    "data-title",
    "reset-step",
    "finish",
    "abort",
    "error",
    "nonsense",
  ];
  const field = fc.oneof(fc.constantFrom("1", "2"), fc.jsonValue(), fc.constant(undefined));
  const odd = fc.record({
    type: fc.constantFrom(...types),
    id: field,
    delta: field,
    toolCallId: field,
    toolName: field,
    inputTextDelta: field,
    input: field,
    output: field,
    errorText: field,
    data: field,
    messageMetadata: field,
    toolMetadata: field,
  });
  fc.assert(
    fc.property(fc.array(fc.oneof(odd, fc.jsonValue()), { maxLength: 30 }), (values) => {
      const state = reduceAll([
        { type: "start", messageId: "m1" },
        { type: "text-delta", id: "9", delta: "kept" },
        ...values,
      ]);
      expect(state.message).not.toBeNull();
    }),
    { numRuns: 500 },
  );
});

test("a call that runs as a task keeps its beginning and what its server says of it last", () => {
  const task = (data: unknown) => ({ type: "data-mcp-task", id: "c", data });
  const state = reduceAll([
    { type: "start", messageId: "m" },
    { type: "tool-input-available", toolCallId: "c", toolName: "t", input: {} },
    task({ startedAt: "2026-01-01T00:00:00Z", asks: false }),
    task({ startedAt: "2026-01-01T00:00:00Z", asks: true, message: "Which one?" }),
    task({ startedAt: "soon", message: "unreadable" }),
  ]);
  const startedAt = Date.UTC(2026, 0, 1);
  expect(state.message?.parts).toMatchObject([{ task: { startedAt, asks: true, message: "Which one?" } }]);
});

test("dates reasoning, shows progress and ends with how the turn ended", () => {
  const chunks: StreamChunk[] = [
    { type: "start", messageId: "m", messageMetadata: { model: "p/n", createdAt: "2026-01-01T00:00:00Z" } },
    { type: "data-model-status", data: { state: "queued", ahead: 2 } },
  ];
  expect(reduceAll(chunks).modelStatus).toEqual({ state: "queued", ahead: 2 });
  const tool = { toolCallId: "c", toolName: "t", dynamic: true };
  const state = reduceAll([
    ...chunks,
    { type: "tool-input-available", ...tool, input: {} },
    { type: "data-mcp-progress", id: "c", data: { progress: 3, total: 4, message: "three" } },
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: "so far" },
    { type: "abort" },
    { type: "text-delta", id: "1", delta: " and more" },
  ]);
  expect(state.modelStatus).toBeNull();
  expect(state.message).toMatchObject({
    status: "stopped",
    model: "p/n",
    createdAt: "2026-01-01T00:00:00Z",
    parts: [
      { progress: { progress: 3, total: 4, message: "three" } },
      { text: "so far", state: "done" },
      { text: " and more" },
    ],
  });
  expect(reduceAll([{ type: "error", errorText: "no model" }]).message).toMatchObject({
    status: "failed",
    error: "no model",
  });
});

test("an answer at the model's limit is complete up to there, and no failure", () => {
  const ended = (finishReason: string) => reduceAll([{ type: "finish", finishReason }]).message;
  expect(ended("length")).toMatchObject({ status: "length", error: null });
  expect(ended("stop")).toMatchObject({ status: "done", error: null });
});

test("starts over when the server replays the turn", () => {
  const turn = [
    { type: "start", messageId: "m" },
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: "hello" },
  ];
  expect(reduceAll([...turn, ...turn]).message?.parts).toEqual([
    { type: "text", text: "hello", state: "streaming" },
  ]);
});

test("a question is open until its second chunk, and others stay", () => {
  const tool = { toolCallId: "c", toolName: "t", dynamic: true };
  const asked = (id: string, state: string, request?: object) => ({
    type: "data-elicitation",
    id,
    data: { toolCallId: "c", serverName: "s", state, request },
  });
  const begun = [{ type: "start" }, { type: "tool-input-available", ...tool, input: {} }];
  const two = [...begun, asked("1", "waiting", { mode: "form" }), asked("2", "waiting", { mode: "url" })];
  const questions = (chunks: readonly unknown[]) => {
    const part = reduceAll(chunks).message?.parts[0];
    return part?.type === "dynamic-tool" ? part.elicitations?.map(({ id }) => id) : undefined;
  };
  expect(questions(two)).toEqual(["1", "2"]);
  expect(questions([...two, asked("1", "decline")])).toEqual(["2"]);
  expect(questions([...two, asked("1", "withdrawn"), asked("2", "accept")])).toEqual([]);
});
