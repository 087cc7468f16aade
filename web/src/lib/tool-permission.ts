import { callApi, jsonBody } from "./api-client";

/** Permissions for a tool. */
export const PERMISSIONS = ["ask", "always", "never"] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** Permission of one tool. */
export interface ToolPermission {
  connectionId: string;
  serverName: string;
  tool: string;
  permission: Permission;
  isDefault: boolean;
  /** True if the server has changed the tool since it was allowed permanently, so that it asks again. */
  changed: boolean;
}

/** Tools of a server that get one permission together. */
export type ToolsOfServer = "all" | "read-only";

/**
 * Sets one permission for tools of a connection, and returns those of the changed ones. "always" leaves out tools that
 * were denied or have changed.
 * @throws {ApiError} if the server has no such tools now
 */
export async function allowTools(
  connectionId: string,
  tools: ToolsOfServer,
  permission: Permission,
): Promise<ToolPermission[]> {
  const path = `/api/connections/${encodeURIComponent(connectionId)}/permissions`;
  const answer = await callApi<{ permissions: ToolPermission[] }>(path, {
    ...jsonBody({ tools, permission }),
    method: "PUT",
  });
  return answer.permissions;
}
