import type { JsonObject } from "@/lib/json";
import type { ToolOutput } from "@/components/tool-result/tool-output";

/** Converts a result back to MCP's format. */
export function fromToolOutput({ content, structuredContent, isError, meta }: ToolOutput): JsonObject {
  return {
    content,
    isError,
    ...(structuredContent !== undefined && { structuredContent }),
    ...(meta && { _meta: meta }),
  };
}
