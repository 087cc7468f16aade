import type { ToolTask } from "./message";
import type { StreamChunk } from "./protocol";

type TaskData = Extract<StreamChunk, { type: "data-mcp-task" }>["data"];

/** What is shown of a call that runs as a task. */
export function taskOf({ startedAt, asks, message }: TaskData): ToolTask {
  return {
    startedAt: Date.parse(startedAt),
    asks: asks === true,
    ...(typeof message === "string" ? { message } : {}),
  };
}
