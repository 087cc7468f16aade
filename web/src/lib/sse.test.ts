import { expect, test } from "vitest";
import { SseParser } from "./sse";

const stream = ": hello\r\nid: 1\r\ndata: a\r\ndata: b\r\n\r\ndata:c\n\n\ndata: d\r\rdata: cut";
const expected = [
  { id: "1", data: "a\nb" },
  { id: "1", data: "c" },
  { id: "1", data: "d" },
];

test("gives the same events wherever the stream is cut", () => {
  for (let cut = 0; cut <= stream.length; cut++) {
    const parser = new SseParser();
    expect([...parser.push(stream.slice(0, cut)), ...parser.push(stream.slice(cut))]).toEqual(expected);
  }
});
