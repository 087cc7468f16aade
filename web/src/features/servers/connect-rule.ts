import type { ToolDefinition } from "@/lib/available-tool";
import { parseUrl } from "@/lib/safe-url";
import { fallbackTools } from "./fallback-tools";

/** Limit of the database as well. */
const MAX_URL_BYTES = 2_048;

/** Response of the proxy after it tried to connect to a server. */
export interface ProxyAnswer {
  success: boolean;
  data?: ToolDefinition[] | null;
  error?: string | null;
  /** True if the user has to sign in at the server first. */
  needsSignIn?: boolean;
}

/** Returns true for a valid server URL; the database enforces the same rule. */
export function isServerUrl(text: string): boolean {
  const url = parseUrl(text);
  if (url === null || text.length > MAX_URL_BYTES) return false;
  return /^(?:https?|wss?):$/u.test(url.protocol) && url.username === "" && url.password === "";
}

/** Result of asking the proxy. */
export type Probe =
  | { kind: "answered"; answer: ProxyAnswer }
  /** The proxy was unreachable or its response was not ok. */
  | { kind: "failed"; reason: string };

/** Outcome of connecting. */
export type Decision =
  | { kind: "connect"; tools: readonly ToolDefinition[]; fallbackReason?: string }
  /** Stored without tools, which are listed after the user has signed in. */
  | { kind: "sign-in" }
  | { kind: "refuse"; reason: string | undefined };

/**
 * Decides the outcome: a server that fails or offers no tools is connected nevertheless, with the built-in Google Drive
 * tools as fallback, unless the operator has disabled them. Tools that come with a failure are used. A server that only
 * needs a sign-in gets no fallback.
 */
export function decideConnection(probe: Probe, fallback: "google-drive" | "off", noTools: string): Decision {
  const answer = probe.kind === "answered" ? probe.answer : undefined;
  if (answer?.needsSignIn === true) return { kind: "sign-in" };
  const offered = answer?.data ?? [];
  if (answer?.success === true && offered.length > 0) return { kind: "connect", tools: offered };
  const reason = probe.kind === "failed" ? probe.reason : answer?.error;
  if (fallback === "off")
    return { kind: "refuse", reason: reason ?? (answer?.success === true ? noTools : undefined) };
  return {
    kind: "connect",
    tools: offered.length > 0 ? offered : fallbackTools,
    fallbackReason: reason ?? noTools,
  };
}
