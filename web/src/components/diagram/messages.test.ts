import { expect, test } from "vitest";
import { readDiagramEvent } from "./messages";

test("reads events of the sandbox", () => {
  const png = { method: "diagram/png", params: { image: new Blob() } };
  for (const event of [
    { method: "diagram/drawn", params: { svg: "<svg/>" } },
    { method: "diagram/resized", params: { height: 120 } },
    { method: "diagram/failed", params: { message: "Parse error" } },
    png,
  ])
    expect(readDiagramEvent(event as never)).toEqual(event);
});

test("ignores messages of another form", () => {
  for (const message of [
    {},
    { method: "diagram/drawn" },
    { method: "diagram/drawn", params: null },
    { method: "diagram/drawn", params: { svg: 1 } },
    { method: "diagram/resized", params: { height: "120" } },
    { method: "diagram/png", params: { image: "data:," } },
    { method: "diagram/failed", params: {} },
    { method: "ui/open-link", params: { svg: "" } },
  ])
    expect(readDiagramEvent(message)).toBeUndefined();
});
