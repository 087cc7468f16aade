import type { Icon } from "./icon";

/** What a server says about a tool's behaviour; hints, never promises. */
export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/** A tool as its server describes it. */
export interface ToolDefinition {
  name: string;
  /** A name for people. */
  title?: string | null;
  description?: string | null;
  inputSchema?: unknown;
  annotations?: ToolAnnotations | null;
  /** What else the server says; of it, the link to the tool's app, and for whom the tool is. */
  _meta?: { ui?: { resourceUri?: unknown; visibility?: unknown } | null } | null;
  icons?: Icon[] | null;
}

/** A tool that the assistant may use, with the name of the connection it comes from. */
export interface AvailableTool {
  name: string;
  /** A name for people; absent when the server gives none. */
  title?: string;
  /** Empty when the server says nothing. */
  description: string;
  serverName: string;
  inputSchema?: unknown;
  annotations?: ToolAnnotations;
  /** Whether the server brings an app for the result. */
  hasApp?: boolean;
  /** Its pictures, and the connection through which they are had; absent when there are none. */
  pictures?: { connectionId: string; icons: readonly Icon[] };
}
