import { queryOptions } from "@tanstack/react-query";
import { callApi } from "@/lib/api-client";

/** Tool call in the log. */
export interface Call {
  id: string;
  at: string;
  serverName: string;
  tool: string;
  allowedBy: "default" | "rule" | "once" | "always" | "form" | "nobody";
  outcome: "done" | "error" | "unknown" | "stopped" | "denied";
}

/** Page of the log, newest first, with the cursor of the next page. */
export interface CallPage {
  calls: readonly Call[];
  next: string | null;
}

const CALLS_PER_PAGE = 20;

/** Returns the query for the user's newest tool calls. */
export function callsQuery(userId: string) {
  return queryOptions({ queryKey: ["tool-calls", userId], queryFn: () => loadCalls(""), staleTime: 0 });
}

/** Loads the tool calls before a cursor; the newest for an empty one. */
export function loadCalls(before: string): Promise<CallPage> {
  return callApi<CallPage>(`/api/tools/audit?limit=${CALLS_PER_PAGE}&before=${before}`);
}
