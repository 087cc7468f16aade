import { queryOptions } from "@tanstack/react-query";
import { callApi, jsonBody } from "@/lib/api-client";
import { ApiError, messageOf } from "@/lib/api-error";
import type { ToolDefinition } from "@/lib/available-tool";
import type { Connection, ConnectionDetails } from "@/lib/connection";
import { deleteRows, insertRow, readRows } from "@/lib/rows";
import { signInPath } from "@/lib/server-sign-in";
import type { Probe, ProxyAnswer } from "./connect-rule";
import type { StoredServer } from "./server-connection";

/** Returns the query for the user's stored connections. */
export function storedServers(userId: string) {
  return queryOptions({
    queryKey: ["mcp_servers", userId],
    queryFn: () => readRows<StoredServer>("mcp_servers", { user_id: `eq.${userId}` }),
  });
}

/** Returns the query for the live state of the user's connections. */
export function liveConnections(userId: string) {
  return queryOptions({
    queryKey: ["connections", userId],
    queryFn: async () => (await callApi<{ connections: Connection[] }>("/api/connections")).connections,
  });
}

/** Asks the proxy to connect to a server and list its tools. */
export async function probeServer(url: string, headers: Record<string, string> | undefined): Promise<Probe> {
  try {
    const body = headers === undefined ? { url } : { url, headers };
    const answer = await callApi<ProxyAnswer>("/functions/v1/mcp-proxy", jsonBody(body));
    return { kind: "answered", answer };
  } catch (error) {
    // Without a session the server did not fail, so fallback tools would be wrong.
    if (error instanceof ApiError && error.status === 401) throw error;
    return { kind: "failed", reason: messageOf(error) };
  }
}

/** MCP server that the operator offers to the user. */
export interface SharedServer {
  id: string;
  name: string;
  /** What it is for; may be empty. */
  description: string;
  url: string;
  /** Id of the user's connection to it. */
  connection?: string;
}

/** Returns the query for the servers that the operator offers to the user. */
export function sharedServers(userId: string) {
  return queryOptions({
    queryKey: ["shared-servers", userId],
    queryFn: async () => (await callApi<{ servers: SharedServer[] }>("/api/shared-servers")).servers,
  });
}

/** Connects the user to a shared server, and waits for the result. */
export function connectSharedServer(id: string): Promise<Connection> {
  return callApi(`/api/shared-servers/${encodeURIComponent(id)}/connect`, { method: "POST" });
}

interface NewServer {
  user_id: string;
  name: string;
  url: string;
  tools: readonly ToolDefinition[];
  headers?: Record<string, string>;
}

/** Stores a connection. The tools may take megabytes, so they are not requested back. */
export async function insertServer(server: NewServer): Promise<void> {
  await insertRow("mcp_servers", { ...server, status: "connected" }, "id");
}

export function deleteServer(userId: string, name: string): Promise<void> {
  return deleteRows("mcp_servers", { user_id: `eq.${userId}`, name: `eq.${name}` });
}

function connectionPath(id: string): string {
  return `/api/connections/${encodeURIComponent(id)}`;
}

/** Reconnects to a server; resolves to the new state. */
export function refreshConnection(id: string): Promise<Connection> {
  return callApi<Connection>(`${connectionPath(id)}/refresh`, { method: "POST" });
}

/** Lists a server's tools again over the existing connection. */
export function listToolsAgain(id: string): Promise<Connection> {
  return callApi<Connection>(`${connectionPath(id)}/tools`, { method: "POST" });
}

/** Returns the query for a connection's details. `version` distinguishes its states. */
export function connectionDetails(userId: string, id: string, version: string) {
  return queryOptions({
    queryKey: ["connection", userId, id, version],
    queryFn: () => callApi<ConnectionDetails>(connectionPath(id)),
  });
}

/** Changes of a connection; absent fields stay. */
export interface ConnectionChange {
  name?: string;
  /** Headers to set; null removes one. */
  headers?: Record<string, string | null>;
  /** Tools to enable or disable. */
  tools?: Record<string, boolean>;
}

export function changeConnection(id: string, change: ConnectionChange): Promise<Connection> {
  return callApi<Connection>(connectionPath(id), { ...jsonBody(change), method: "PATCH" });
}

/** Stores the OAuth client that the user registered manually at the server's sign-in server. */
export function enterServerClient(id: string, clientId: string, clientSecret: string): Promise<void> {
  return callApi(signInPath(id), { ...jsonBody({ clientId, clientSecret }), method: "PUT" });
}

export function signOutOfServer(id: string): Promise<void> {
  return callApi(signInPath(id), { method: "DELETE" });
}

/** Returns the query for whether Google Drive is set up here, and whether the user has linked an account. */
export function googleDrive(userId: string) {
  return queryOptions({
    queryKey: ["google-drive", userId],
    queryFn: () => callApi<{ configured: boolean; linked: boolean }>("/api/google-drive"),
  });
}

/** Returns the URL at which to link Google Drive. */
export async function googleDriveLink(): Promise<string> {
  return (await callApi<{ url: string }>("/api/google-drive/link", { method: "POST" })).url;
}

export async function unlinkGoogleDrive(): Promise<void> {
  await callApi("/api/google-drive", { method: "DELETE" });
}
