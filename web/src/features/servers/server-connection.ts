import type { AvailableTool, ToolDefinition } from "@/lib/available-tool";
import type { Connection } from "@/lib/connection";
import type { Icon } from "@/lib/icon";
import type { Tone } from "@/ui/badge";

/** A row of `mcp_servers`. */
export interface StoredServer {
  id: string;
  name: string;
  url: string;
  tools: ToolDefinition[] | null;
  status: string;
  created_at: string;
}

/** A connection as the screens show it: the stored row, corrected by the live state once that is known. */
export interface ServerConnection {
  id: string;
  name: string;
  url: string;
  status: string;
  reason: string | undefined;
  /** When it is tried again by itself. */
  nextTryAt: string | undefined;
  tools: readonly ToolDefinition[];
  /** When the server listed them. */
  listedAt: string | undefined;
  /** The names of the tools that the user has switched off. */
  disabledTools: readonly string[];
  /** Whether the built-in tools stand in for those the server did not offer. */
  usesFallback: boolean;
  /** Whether the user is signed in at the server. */
  signedIn: boolean;
  /** Pictures of the server; absent when there are none. */
  icons?: readonly Icon[];
}

/** Joins rows and live states, oldest connection first. A stored row counts as connected until more is known. */
export function mergeConnections(
  stored: readonly StoredServer[],
  live: readonly Connection[],
): ServerConnection[] {
  const states = new Map(live.map((connection) => [connection.id, connection]));
  return stored
    .toSorted((a, b) => a.created_at.localeCompare(b.created_at))
    .map((row) => mergeConnection(row, states.get(row.id)));
}

function mergeConnection(row: StoredServer, live: Connection | undefined): ServerConnection {
  const stored = row.tools ?? [];
  const { id, name, url } = row;
  if (live === undefined) {
    const unknown = { reason: undefined, nextTryAt: undefined, listedAt: undefined, disabledTools: [] };
    return {
      id,
      name,
      url,
      status: "connected",
      tools: stored,
      usesFallback: false,
      signedIn: false,
      ...unknown,
    };
  }
  return {
    id,
    // The row may be older than what the server told last.
    name: live.name,
    url,
    status: live.status,
    reason: live.reason ?? undefined,
    nextTryAt: live.nextTryAt ?? undefined,
    listedAt: live.listedAt ?? undefined,
    disabledTools: live.disabledTools ?? [],
    // Until the server was asked, what it had when it was connected is the best answer.
    tools: live.tools.length > 0 ? live.tools : stored,
    usesFallback: live.toolsFrom === "fallback",
    signedIn: live.signedIn === true,
    ...(live.icons && { icons: live.icons }),
  };
}

/** Whether the assistant can count on this connection's tools. */
export function isUsable(connection: ServerConnection): boolean {
  // Where somebody is signed in, the server only wants more rights for some of its tools.
  if (connection.status === "needs-sign-in") return connection.signedIn;
  return connection.status !== "error" || connection.usesFallback;
}

/** The tools of all usable connections. */
export function availableTools(connections: readonly ServerConnection[]): AvailableTool[] {
  return connections
    .filter(isUsable)
    .flatMap((connection) =>
      connection.tools
        .filter((tool) => isForAssistant(tool) && !connection.disabledTools.includes(tool.name))
        .map((tool) => available(tool, connection)),
    );
}

/** Whether a tool is more than a part of the server's apps. */
function isForAssistant({ _meta: meta }: ToolDefinition): boolean {
  const visibility = meta?.ui?.visibility;
  return !Array.isArray(visibility) || visibility.includes("model");
}

function available(tool: ToolDefinition, { id, name: serverName }: ServerConnection): AvailableTool {
  const title = tool.title ?? tool.annotations?.title ?? "";
  const { _meta: meta } = tool;
  return {
    name: tool.name,
    ...(title !== "" && { title }),
    description: tool.description ?? "",
    serverName,
    ...(tool.inputSchema !== undefined && { inputSchema: tool.inputSchema }),
    ...(tool.annotations && { annotations: tool.annotations }),
    ...(typeof meta?.ui?.resourceUri === "string" && { hasApp: true }),
    ...(tool.icons && { pictures: { connectionId: id, icons: tool.icons } }),
  };
}

/** The colour of a status; whatever is not known is grey. */
export function statusTone(status: string): Tone {
  if (status === "connected") return "ok";
  if (status === "connecting" || status === "needs-sign-in") return "warn";
  return status === "error" ? "err" : "neutral";
}
