import type { ToolDefinition } from "./available-tool";

/** The live state of a connection, as the server knows it. */
export interface Connection {
  id: string;
  name: string;
  url: string;
  status: "connected" | "connecting" | "error" | "needs-sign-in" | "idle";
  /** What went wrong, for people. */
  reason?: string | null;
  tools: ToolDefinition[];
  /** Whose tools these are: the server's own, or the built-in ones that stand in for them. */
  toolsFrom: "server" | "fallback";
  /** Whether the user is signed in at the server, and can sign out of it. */
  signedIn?: boolean;
  transport?: string | null;
  protocolVersion?: string | null;
  server?: { name: string; version: string } | null;
  latencyMs?: number | null;
  checkedAt?: string | null;
}
