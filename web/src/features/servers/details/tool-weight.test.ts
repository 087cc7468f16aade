import { expect, test } from "vitest";
import { tokensOf } from "./tool-weight";

test("a tool weighs what the model is told of it", () => {
  const bare = tokensOf({ name: "add" });
  expect(bare).toBe(13);
  const inputSchema = { type: "object", properties: { a: { type: "number" } } };
  expect(tokensOf({ name: "add", description: "Adds.", inputSchema })).toBe(27);
  expect(tokensOf({ name: "add", description: "Größe" })).toBeGreaterThan(bare);
});
