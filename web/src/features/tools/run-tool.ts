import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { ElicitationAction } from "@/components/elicitation/request";
import { type ToolOutput, toToolOutput } from "@/components/tool-result/tool-output";
import { callApi, fetchApi, jsonBody } from "@/lib/api-client";
import { ApiError, unreachableError } from "@/lib/api-error";
import type { AvailableTool } from "@/lib/available-tool";
import { stringifyJson } from "@/lib/json";
import { readEvents } from "@/lib/sse";

/** Result of a manual tool call. */
export interface ToolRun {
  /** Distinguishes one run from the next. */
  number: number;
  arguments: unknown;
  result: ToolOutput;
  durationMs: number;
}

let runs = 0;

/** Elicitation that the call waits for. */
export interface PendingElicitation {
  id: string;
  request: unknown;
}

type RunEvent =
  | { type: "elicitation"; id: string; state: "waiting"; request: unknown }
  | { type: "elicitation"; id: string; state: "settled" }
  | { type: "result"; result: unknown; durationMs: number }
  | { type: "error"; code: string; message: string };

/**
 * Calls a tool with the arguments of the form. `onElicitation` receives each elicitation that opens, and undefined for
 * its id once it is settled.
 * @throws {ApiError} if the tool could not be called
 */
async function runTool(
  tool: AvailableTool,
  args: unknown,
  onElicitation: (id: string, elicitation: PendingElicitation | undefined) => void,
  signal: AbortSignal,
): Promise<ToolRun> {
  const body = { serverName: tool.serverName, name: tool.name, arguments: args };
  const init = jsonBody(body, stringifyJson);
  const headers = { ...init.headers, accept: "text/event-stream" };
  const { body: events } = await fetchApi("/api/tools/run", { ...init, headers, signal });
  if (events === null) throw unreachableError();
  for await (const { data } of readEvents(events)) {
    const event = JSON.parse(data) as RunEvent;
    if (event.type === "elicitation")
      onElicitation(
        event.id,
        event.state === "waiting" ? { id: event.id, request: event.request } : undefined,
      );
    if (event.type === "error") throw new ApiError(event.message, 502, event.code);
    if (event.type === "result") {
      const { result, durationMs } = event;
      return { number: ++runs, arguments: args, result: toToolOutput(result), durationMs };
    }
  }
  throw unreachableError();
}

/**
 * Responds to an elicitation of a manual tool call.
 * @throws {ApiError} if the response is refused or comes too late
 */
function answerTool(id: string, action: ElicitationAction, content: unknown): Promise<void> {
  const body = { action, ...(content !== undefined && { content }) };
  return callApi(`/api/tools/run/elicitations/${encodeURIComponent(id)}`, jsonBody(body, stringifyJson));
}

/** Returns the state of a manual tool call and its elicitations. Unmounting cancels the call. */
export function useToolRun(tool: AvailableTool) {
  const [elicitations, setElicitations] = useState<readonly PendingElicitation[]>([]);
  const controller = useRef<AbortController>(null);
  useEffect(() => () => controller.current?.abort(), []);
  const run = useMutation({
    mutationFn: async (args: unknown) => {
      const { signal } = (controller.current = new AbortController());
      const onElicitation = (id: string, elicitation: PendingElicitation | undefined) =>
        setElicitations((open) => [
          ...open.filter((one) => one.id !== id),
          ...(elicitation ? [elicitation] : []),
        ]);
      try {
        return await runTool(tool, args, onElicitation, signal);
      } finally {
        setElicitations([]);
      }
    },
  });
  return { run, elicitations, answer: answerTool };
}
