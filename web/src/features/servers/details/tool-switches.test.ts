import { expect, test } from "vitest";
import { estimateTokens } from "./tool-switches";

test("a tool weighs what the model is told of it", () => {
  const bare = estimateTokens({ name: "add" });
  expect(bare).toBe(13);
  const inputSchema = { type: "object", properties: { a: { type: "number" } } };
  expect(estimateTokens({ name: "add", description: "Adds.", inputSchema })).toBe(27);
  expect(estimateTokens({ name: "add", description: "Größe" })).toBeGreaterThan(bare);
});
