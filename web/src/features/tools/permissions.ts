import { queryOptions } from "@tanstack/react-query";
import { callApi, jsonBody } from "@/lib/api-client";

/** What a person can allow a tool. */
export const PERMISSIONS = ["ask", "always", "never"] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** What a tool is allowed. */
export interface ToolPermission {
  connectionId: string;
  serverName: string;
  tool: string;
  permission: Permission;
  isDefault: boolean;
  /** The server has changed the tool since it was allowed for good, so that it asks again. */
  changed: boolean;
}

/** What each tool of the person's connections is allowed. */
export function permissionsQuery(userId: string) {
  return queryOptions({
    queryKey: ["tool-permissions", userId],
    queryFn: async () =>
      (await callApi<{ permissions: ToolPermission[] }>("/api/tools/permissions")).permissions,
    staleTime: 0,
  });
}

/** DefinitionChanges what a tool is allowed, about what the tool is now. */
export function allowTool(of: ToolPermission, permission: Permission): Promise<ToolPermission> {
  const body = { connectionId: of.connectionId, tool: of.tool, permission };
  return callApi<ToolPermission>("/api/tools/permissions", { ...jsonBody(body), method: "PUT" });
}
