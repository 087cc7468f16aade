import fc from "fast-check";
import { expect, test } from "vitest";
import { attachmentsOf, textOf } from "./message";
import { fromRow } from "./stored-message";

const row = { id: "1", role: "assistant", content: "hello", created_at: "2026-01-01T00:00:00+00:00" };
const call = { id: "c", name: "t", serverName: "s", arguments: { a: 1 }, durationMs: 5 };

test("parts come in order, with what came of each call", () => {
  const parts = [
    { type: "reasoning", text: "hm" },
    {
      type: "tool-call",
      call: { ...call, result: { content: [{ type: "text", text: "r" }] }, outcome: "done" },
    },
    { type: "tool-call", call: { ...call, error: "refused", outcome: "error" } },
    { type: "tool-call", call: { ...call, outcome: "unknown" } },
    { type: "text", text: "hello" },
  ];
  const message = fromRow({ ...row, parts, status: "interrupted", model: "p/m" });
  expect(message).toMatchObject({ status: "interrupted", model: "p/m", error: null });
  expect(message.parts).toMatchObject([
    { type: "reasoning", text: "hm" },
    {
      state: "output-available",
      toolName: "t",
      serverName: "s",
      input: { a: 1 },
      durationMs: 5,
      output: { isError: false },
    },
    { state: "output-error", errorText: "refused" },
    { state: "output-error", outcome: "unknown" },
    { type: "text", text: "hello" },
  ]);
});

test("a call that was broken off has no duration, and one that took no time has", () => {
  const calls = [
    { ...call, durationMs: 0, outcome: "unknown" },
    { ...call, durationMs: 0, outcome: "done", result: { content: [] } },
  ];
  const { parts } = fromRow({ ...row, tool_calls: calls });
  expect(parts.map((part) => "durationMs" in part)).toEqual([false, true, false]);
});

test("files stand where they came, and each goes out again by its id", () => {
  const file = { type: "file", url: "/v1/files/7", mediaType: "image/png", filename: "a.png", size: 3 };
  const answer = fromRow({ ...row, parts: [file, { type: "text", text: "hello" }] });
  expect(answer.parts).toMatchObject([{ ...file, id: "7" }, { type: "text" }]);
  const parts = [file, { type: "attachment", attachment: { id: "8", kind: "prompt", name: "p" } }];
  const question = fromRow({ ...row, role: "user", parts });
  expect(attachmentsOf(question).map(({ id }) => id)).toEqual(["7", "8"]);
  expect(fromRow({ ...row, parts: [{ type: "file", url: 7 }] }).parts).toHaveLength(1);
});

test("offered replies stand after the question, and are no text", () => {
  const options = ["find_files", "None of them"];
  const parts = [
    { type: "text", text: "Which one?" },
    { type: "reply-options", options },
  ];
  const message = fromRow({ ...row, parts });
  expect(message.parts).toMatchObject([{ type: "text" }, { type: "reply-options", options }]);
  expect(textOf(message)).toBe("Which one?");
});

test("an answer without parts has its calls and its content", () => {
  const message = fromRow({ ...row, tool_calls: [{ ...call, outcome: "done", result: { content: [] } }] });
  expect(message.parts.map(({ type }) => type)).toEqual(["dynamic-tool", "text"]);
  expect(textOf(message)).toBe("hello");
});

test("never throws, whatever the JSON columns hold", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (parts, calls) => {
      expect(fromRow({ ...row, parts, tool_calls: calls }).id).toBe("1");
    }),
  );
});
