import { queryOptions } from "@tanstack/react-query";
import { callApi, jsonBody } from "@/lib/api-client";

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

/** Returns the query for the permissions of all tools of the user. */
export function permissionsQuery(userId: string) {
  return queryOptions({
    queryKey: ["tool-permissions", userId],
    queryFn: async () =>
      (await callApi<{ permissions: ToolPermission[] }>("/api/tools/permissions")).permissions,
    staleTime: 0,
  });
}

/** Sets the permission for a tool's current definition. */
export function allowTool(of: ToolPermission, permission: Permission): Promise<ToolPermission> {
  const body = { connectionId: of.connectionId, tool: of.tool, permission };
  return callApi<ToolPermission>("/api/tools/permissions", { ...jsonBody(body), method: "PUT" });
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
