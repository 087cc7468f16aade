import { callApi, jsonBody } from "@/lib/api-client";
import type { AvailableTool } from "@/lib/available-tool";
import { stringifyJson } from "@/lib/json";
import type { ToolResultContent } from "@/tool-result/tool-result-content";

/** What came of running a tool by hand. */
export interface ToolRun {
  result: ToolResultContent;
  durationMs: number;
}

/** Runs a tool with the arguments of the form.
 * @throws {ApiError} when the tool could not be called */
export function runTool(tool: AvailableTool, args: unknown): Promise<ToolRun> {
  const body = { serverName: tool.serverName, name: tool.name, arguments: args };
  return callApi<ToolRun>("/api/tools/run", jsonBody(body, stringifyJson));
}
