import fc from "fast-check";
import { expect, test } from "vitest";
import { readEvents, type ServerEvent } from "./sse";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

async function parse(pieces: readonly Uint8Array[]): Promise<ServerEvent[]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  return Array.fromAsync(readEvents(body));
}

test("reads ids, skips comments and unknown fields, and joins data lines", async () => {
  const events = await parse([
    bytes(": hello\nid: 1\ndata: a\n\nevent: x\nid:2\ndata:b\ndata: c\n\n: bye\n\ndata\n\n"),
  ]);
  expect(events).toEqual([
    { id: "1", data: "a" },
    { id: "2", data: "b\nc" },
    { id: "2", data: "" },
  ]);
});

test("every kind of line break ends a line", async () => {
  const events = await parse([bytes("id: 1\r\ndata: a\r\ndata: b\r\n\r\ndata:c\n\ndata: d\r\r:")]);
  expect(events.map(({ data }) => data)).toEqual(["a\nb", "c", "d"]);
});

test("drops the event that the end of the stream cuts off", async () => {
  expect(await parse([bytes("data: whole\n\ndata: hal")])).toEqual([{ id: "", data: "whole" }]);
});

test("gives the same events however the bytes are cut", async () => {
  const line = fc.constantFrom(
    "data: Grüße 👋🏽",
    'data: {"a":1}',
    ": comment",
    "id: 7",
    "id: 8",
    "retry: 5",
    "",
    "",
    "data:",
  );
  const ending = fc.constantFrom("\n", "\r\n", "\r");
  const stream = fc
    .tuple(fc.array(line, { maxLength: 30 }), ending)
    .map(([lines, end]) => lines.map((l) => l + end).join(""));
  await fc.assert(
    fc.asyncProperty(stream, fc.array(fc.nat({ max: 400 }), { maxLength: 40 }), async (text, cuts) => {
      const whole = bytes(text);
      const places = [...new Set([0, ...cuts.map((cut) => Math.min(cut, whole.length)), whole.length])].sort(
        (a, b) => a - b,
      );
      const pieces = places.slice(1).map((place, index) => whole.slice(places[index], place));
      expect(await parse(pieces)).toEqual(await parse([whole]));
    }),
    { numRuns: 300 },
  );
});
