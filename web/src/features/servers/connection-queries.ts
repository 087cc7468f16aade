import { queryOptions } from "@tanstack/react-query";
import { callApi } from "@/lib/api-client";
import type { Connection } from "@/lib/connection";
import { readRows } from "@/lib/rows";
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
