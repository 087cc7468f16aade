import type { ToolDefinition } from "./available-tool";

/** Live state of a connection on the server. */
export interface Connection {
  id: string;
  name: string;
  url: string;
  /** True if it leads to a server that the operator shares; its URL and headers are the operator's. */
  shared?: boolean;
  status: "connected" | "connecting" | "error" | "needs-sign-in" | "idle";
  /** Error message for the user. */
  reason?: string | null;
  /** Time of the next automatic attempt. */
  nextTryAt?: string | null;
  /** Number of consecutive failures. */
  failures?: number | null;
  /** Last error, even if it is resolved. */
  lastError?: { reason: string; at: string } | null;
  /** Tools of the last listing. */
  tools: ToolDefinition[];
  /** Time of the listing; absent for fallback tools. */
  listedAt?: string | null;
  /** Names of the tools that the user has disabled. */
  disabledTools?: string[];
  /** Source of the tools: the server itself, or the built-in fallback. */
  toolsFrom: "server" | "fallback";
  /** True if the user is signed in at the server and can sign out. */
  signedIn?: boolean;
  /** Family of protocol versions. */
  era?: "modern" | "legacy" | null;
  transport?: string | null;
  protocolVersion?: string | null;
  server?: { name: string; version: string } | null;
  icons?: Icon[];
  latencyMs?: number | null;
  checkedAt?: string | null;
}

/** Connection with the details of its sheet. */
export interface ConnectionDetails extends Connection {
  /** Instructions of the server for models. */
  instructions?: string | null;
  /** Names of the headers sent to it; their values are write-only. */
  headers: string[];
}

/** Icon of a server, tool, prompt or resource. */
export interface Icon {
  /** `https:` URL on the server's own origin, or a `data:` URL. */
  readonly src: string;
  readonly mimeType?: string;
  /** For example `48x48`. */
  readonly sizes?: readonly string[];
  /** Theme of the background that it is made for. */
  readonly theme?: string;
}
