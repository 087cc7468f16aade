import { queryOptions } from "@tanstack/react-query";
import { callApi } from "@/lib/api-client";

/** One call of a tool. */
export interface Call {
  id: string;
  at: string;
  serverName: string;
  tool: string;
  allowedBy: "default" | "rule" | "once" | "always" | "form" | "nobody";
  outcome: "done" | "error" | "unknown" | "stopped" | "denied";
}

/** Some calls, newest first, and where those before them begin. */
export interface CallPage {
  calls: readonly Call[];
  next: string | null;
}

const CALLS_PER_PAGE = 20;

/** The person's newest calls. */
export function callsQuery(userId: string) {
  return queryOptions({ queryKey: ["tool-calls", userId], queryFn: () => loadCalls(""), staleTime: 0 });
}

/** The calls before one of them; the newest for the empty text. */
export function loadCalls(before: string): Promise<CallPage> {
  return callApi<CallPage>(`/api/tools/audit?limit=${CALLS_PER_PAGE}&before=${before}`);
}
