import { callApi, jsonBody } from "@/lib/api-client";
import type { AvailableTool } from "@/lib/available-tool";
import { stringifyJson } from "@/lib/json";
import { type ToolOutput, toToolOutput } from "@/tool-result/tool-output";

/** What came of running a tool by hand. */
export interface ToolRun {
  /** Tells one run from the next. */
  number: number;
  arguments: unknown;
  result: ToolOutput;
  durationMs: number;
}

let runs = 0;

/** Runs a tool with the arguments of the form.
 * @throws {ApiError} when the tool could not be called */
export async function runTool(tool: AvailableTool, args: unknown): Promise<ToolRun> {
  const body = { serverName: tool.serverName, name: tool.name, arguments: args };
  const { result, durationMs } = await callApi<{ result: unknown; durationMs: number }>(
    "/api/tools/run",
    jsonBody(body, stringifyJson),
  );
  return { number: ++runs, arguments: args, result: toToolOutput(result), durationMs };
}
