import type { AvailableTool, ToolDefinition } from "@/lib/available-tool";
import type { Connection, Icon } from "@/lib/connection";
import type { Tone } from "@/ui/badge";

/** Row of `mcp_servers`. */
export interface StoredServer {
  id: string;
  name: string;
  url: string;
  tools: ToolDefinition[] | null;
  status: string;
  created_at: string;
}

/** Connection as shown: the stored row, updated by the live state once it is loaded. */
export interface ServerConnection {
  id: string;
  name: string;
  url: string;
  status: string;
  reason: string | undefined;
  /** Time of the next automatic attempt. */
  nextTryAt: string | undefined;
  tools: readonly ToolDefinition[];
  /** Time at which the server listed them. */
  listedAt: string | undefined;
  /** Names of the tools that the user has disabled. */
  disabledTools: readonly string[];
  /** True if the tools are the built-in fallback tools. */
  usesFallback: boolean;
  /** True if the user is signed in at the server. */
  signedIn: boolean;
  /** Icons of the server; absent if there are none. */
  icons?: readonly Icon[];
}

/** Merges rows and live states, oldest connection first. A stored row counts as connected until its state is loaded. */
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
    // The live state is newer than the row.
    name: live.name,
    url,
    status: live.status,
    reason: live.reason ?? undefined,
    nextTryAt: live.nextTryAt ?? undefined,
    listedAt: live.listedAt ?? undefined,
    disabledTools: live.disabledTools ?? [],
    // Until the server has listed its tools again, the stored ones are the best guess.
    tools: live.tools.length > 0 ? live.tools : stored,
    usesFallback: live.toolsFrom === "fallback",
    signedIn: live.signedIn === true,
    ...(live.icons && { icons: live.icons }),
  };
}

/** Returns true if the assistant can use the connection's tools. */
function isUsable(connection: ServerConnection): boolean {
  // If the user is signed in, the server needs more permissions for some tools only.
  if (connection.status === "needs-sign-in") return connection.signedIn;
  return connection.status !== "error" || connection.usesFallback;
}

/** Returns the tools of all usable connections. */
export function availableTools(connections: readonly ServerConnection[]): AvailableTool[] {
  return connections
    .filter(isUsable)
    .flatMap((connection) =>
      connection.tools
        .filter((tool) => isForAssistant(tool) && !connection.disabledTools.includes(tool.name))
        .map((tool) => available(tool, connection)),
    );
}

/** Returns false for a tool that only the server's apps may call. */
function isForAssistant({ _meta: meta }: ToolDefinition): boolean {
  const visibility = meta?.ui?.visibility;
  return !Array.isArray(visibility) || visibility.includes("model");
}

function available(tool: ToolDefinition, { id, name: serverName, icons }: ServerConnection): AvailableTool {
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
    ...(icons && { serverPictures: { connectionId: id, icons } }),
  };
}

const statuses: ReadonlySet<string> = new Set(["connected", "connecting", "error", "needs-sign-in", "idle"]);

/** Returns true if the status is one of a live connection; rows can have others. */
export function isKnownStatus(status: string): status is Connection["status"] {
  return statuses.has(status);
}

/** Returns the color of a status; unknown ones are gray. */
export function statusTone(status: string): Tone {
  if (status === "connected") return "ok";
  if (status === "connecting" || status === "needs-sign-in") return "warn";
  return status === "error" ? "err" : "neutral";
}
