import type { ToolDefinition } from "@/lib/available-tool";

/** Approximate bytes of JSON per token. */
const BYTES_PER_TOKEN = 4;

const encoder = new TextEncoder();

/** Estimates the number of tokens that a tool's definition takes in each model call. */
export function estimateTokens({ name, description, inputSchema }: ToolDefinition): number {
  const told = JSON.stringify({ name, description: description ?? "", input_schema: inputSchema ?? {} });
  return Math.ceil(encoder.encode(told).length / BYTES_PER_TOKEN);
}
