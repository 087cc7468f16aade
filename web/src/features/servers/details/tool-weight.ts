import type { ToolDefinition } from "@/lib/available-tool";

/** Bytes of JSON to a token, about, for the models of the day. */
const BYTES_PER_TOKEN = 4;

const encoder = new TextEncoder();

/** How many tokens the model reads for a tool in each of its turns, estimated from what it is told of it. */
export function tokensOf({ name, description, inputSchema }: ToolDefinition): number {
  const told = JSON.stringify({ name, description: description ?? "", input_schema: inputSchema ?? {} });
  return Math.ceil(encoder.encode(told).length / BYTES_PER_TOKEN);
}
