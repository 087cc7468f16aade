import type { ToolDefinition } from "@/lib/available-tool";
import { parseUrl } from "@/lib/parse-url";
import { fallbackTools } from "./fallback-tools";

/** In bytes. */
const MAX_URL_CHARS = 2_048;

/** What the proxy answers after it has tried to open a server. */
export interface ProxyAnswer {
  success: boolean;
  data?: ToolDefinition[] | null;
  error?: string | null;
  /** Whether the server wants the user to sign in first. */
  needsSignIn?: boolean;
}

/** Whether the product takes this as the URL of a server; the database holds to the same rule. */
export function isServerUrl(text: string): boolean {
  const url = parseUrl(text);
  if (url === null || text.length > MAX_URL_CHARS) return false;
  return /^(?:https?|wss?):$/u.test(url.protocol) && url.username === "" && url.password === "";
}

/** How asking the proxy went. */
export type Probe =
  | { kind: "answered"; answer: ProxyAnswer }
  /** The proxy could not be reached, or its answer was not ok. */
  | { kind: "failed"; reason: string };

/** What becomes of the connection. */
export type Decision =
  | { kind: "connect"; tools: readonly ToolDefinition[]; standInReason?: string }
  /** Stored without tools, which are known after the user has signed in. */
  | { kind: "sign-in" }
  | { kind: "refuse"; reason: string | undefined };

/**
 * The product's rule: a server that fails or offers no tools is connected all the same, with the built-in Google
 * Drive tools, unless the operator has turned those off. Tools that come with a failure are used as they are.
 * Nothing stands in for a server that only wants the user to sign in.
 */
export function decideConnection(probe: Probe, standIns: "google-drive" | "off", noTools: string): Decision {
  const answer = probe.kind === "answered" ? probe.answer : undefined;
  if (answer?.needsSignIn === true) return { kind: "sign-in" };
  const offered = answer?.data ?? [];
  if (answer?.success === true && offered.length > 0) return { kind: "connect", tools: offered };
  const reason = probe.kind === "failed" ? probe.reason : answer?.error;
  if (standIns === "off")
    return { kind: "refuse", reason: reason ?? (answer?.success === true ? noTools : undefined) };
  return {
    kind: "connect",
    tools: offered.length > 0 ? offered : fallbackTools,
    standInReason: reason ?? noTools,
  };
}
