import type { Icon } from "./connection";

/** Hints of a server about a tool's behavior, which are no guarantees. */
export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/** Tool definition of a server. */
export interface ToolDefinition {
  name: string;
  /** Display name. */
  title?: string | null;
  description?: string | null;
  inputSchema?: unknown;
  annotations?: ToolAnnotations | null;
  /** Metadata; used for the tool's app and its visibility. */
  _meta?: { ui?: { resourceUri?: unknown; visibility?: unknown } | null } | null;
  icons?: Icon[] | null;
}

/** Icons with the connection that serves them. */
export interface Pictures {
  connectionId: string;
  icons: readonly Icon[];
}

/** Tool that the assistant may use, with the name of its connection. */
export interface AvailableTool {
  name: string;
  /** Display name, if the server provides one. */
  title?: string;
  /** May be empty. */
  description: string;
  serverName: string;
  inputSchema?: unknown;
  annotations?: ToolAnnotations;
  /** True if the tool has an app for its results. */
  hasApp?: boolean;
  /** Icons with the connection that serves them; absent if there are none. */
  pictures?: Pictures;
  /** The same of its server. */
  serverPictures?: Pictures;
}
