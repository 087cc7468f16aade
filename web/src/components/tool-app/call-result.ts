import type { JsonObject } from "@/lib/json";
import type { ToolOutput } from "@/components/tool-result/tool-output";

/** The result in the protocol's own shape again. */
export function fromToolOutput({ content, structuredContent, isError, meta }: ToolOutput): JsonObject {
  return {
    content,
    isError,
    ...(structuredContent !== undefined && { structuredContent }),
    ...(meta && { _meta: meta }),
  };
}
