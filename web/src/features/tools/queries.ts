import { queryOptions } from "@tanstack/react-query";
import { callApi, jsonBody } from "@/lib/api-client";
import type { Permission, ToolPermission } from "@/lib/tool-permission";

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
