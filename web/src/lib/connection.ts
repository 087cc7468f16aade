import type { ToolDefinition } from "./available-tool";
import type { Icon } from "./icon";

/** The live state of a connection, as the server knows it. */
export interface Connection {
  id: string;
  name: string;
  url: string;
  status: "connected" | "connecting" | "error" | "needs-sign-in" | "idle";
  /** What went wrong, for people. */
  reason?: string | null;
  /** When it is tried again by itself. */
  nextTryAt?: string | null;
  /** How often in a row it failed. */
  failures?: number | null;
  /** What went wrong last, also when it is over. */
  lastError?: { reason: string; at: string } | null;
  /** What it listed last. */
  tools: ToolDefinition[];
  /** When it listed them; absent for tools that stand in. */
  listedAt?: string | null;
  /** The names of the tools that the user has switched off. */
  disabledTools?: string[];
  /** Whose tools these are: the server's own, or the built-in ones that stand in for them. */
  toolsFrom: "server" | "fallback";
  /** Whether the user is signed in at the server, and can sign out of it. */
  signedIn?: boolean;
  /** Before or after the protocol's great change. */
  era?: "modern" | "legacy" | null;
  transport?: string | null;
  protocolVersion?: string | null;
  server?: { name: string; version: string } | null;
  icons?: Icon[];
  latencyMs?: number | null;
  checkedAt?: string | null;
}

/** A connection with what only its own view shows. */
export interface ConnectionDetails extends Connection {
  /** How the server wants to be used, in its own words. */
  instructions?: string | null;
  /** The names of the headers that are sent to it; their values are never read back. */
  headers: string[];
}
