import { callApi, rows } from "@/lib/api-client";
import { ApiError } from "@/lib/api-error";
import type { Connection } from "@/lib/connection";
import { queryOptions } from "@/lib/query/use-query";
import type { StoredServer } from "./server-connection";

/** The user's stored connections. */
export function storedServers(userId: string) {
  return queryOptions({
    queryKey: ["mcp_servers", userId],
    queryFn: async () => {
      const { data, error, status } = await rows.from("mcp_servers").select("*").eq("user_id", userId);
      if (error !== null) throw new ApiError(error.message, status, error.code);
      return data as StoredServer[];
    },
  });
}

/** The live state of the user's connections. */
export function liveConnections(userId: string) {
  return queryOptions({
    queryKey: ["connections", userId],
    queryFn: async () => (await callApi<{ connections: Connection[] }>("/api/connections")).connections,
  });
}
