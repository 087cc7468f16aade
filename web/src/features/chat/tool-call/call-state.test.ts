import { expect, test } from "vitest";
import type { ToolPart } from "../stream/message";
import { argumentsLine, argumentsText, callAsJson, callState } from "./call-state";

const part = (fields: Partial<ToolPart>): ToolPart => ({
  type: "dynamic-tool",
  toolCallId: "1",
  toolName: "t",
  inputText: "",
  state: "input-streaming",
  ...fields,
});
const output = (isError: boolean) => ({ content: [], isError });

test("a call goes from writing over running to how it ended", () => {
  expect(callState(part({}), "streaming")).toBe("writing");
  expect(callState(part({ state: "input-available" }), "streaming")).toBe("running");
  const elicitations = [{ id: "q", request: {} }];
  expect(callState(part({ state: "input-available", elicitations }), "streaming")).toBe("waiting");
  expect(callState(part({ state: "input-available", elicitations: [] }), "streaming")).toBe("running");
  expect(callState(part({ state: "output-available", output: output(false) }), "streaming")).toBe("done");
  expect(callState(part({ state: "output-available", output: output(true) }), "done")).toBe("failed");
  expect(callState(part({ state: "output-error", errorText: "x" }), "done")).toBe("failed");
  expect(callState(part({ state: "output-error", outcome: "unknown" }), "interrupted")).toBe("unknown");
});

test("a call that its answer left open was stopped, or may have run", () => {
  expect(callState(part({ state: "input-available" }), "stopped")).toBe("stopped");
  expect(callState(part({ state: "input-available" }), "interrupted")).toBe("unknown");
  expect(callState(part({}), "interrupted")).toBe("stopped");
});

test("a call as JSON has the tool, its server, the arguments, and the result or the error", () => {
  const call = { toolName: "read", serverName: "disk", input: { path: "a" } };
  expect(JSON.parse(callAsJson(part({ ...call, output: output(false) })))).toEqual({
    tool: "read",
    server: "disk",
    arguments: { path: "a" },
    result: { content: [], isError: false },
  });
  expect(JSON.parse(callAsJson(part({ ...call, errorText: "The disk is full." })))).toEqual({
    tool: "read",
    server: "disk",
    arguments: { path: "a" },
    error: "The disk is full.",
  });
});

test("arguments in one line and set out", () => {
  const call = part({ input: { path: "a b", deep: { list: [1, 2] } } });
  expect(argumentsLine(call)).toBe('{"path":"a b","deep":{"list":[1,2]}}');
  expect(argumentsText(call)).toBe('{ "path": "a b", "deep": { "list": [ 1, 2 ] } }');
  expect(argumentsLine(part({ input: {} }))).toBe("");
  expect(argumentsLine(part({ inputText: '{"pa' }))).toBe('{"pa');
});
