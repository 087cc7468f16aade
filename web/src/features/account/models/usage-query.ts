import { queryOptions } from "@tanstack/react-query";
import { callApi } from "@/lib/api-client";

import type { UsageReport } from "./usage";

/** Returns the query for the usage of the last days. */
export function usageQuery(userId: string, days: number) {
  return queryOptions({
    queryKey: ["usage", userId, String(days)],
    queryFn: () => callApi<UsageReport>(`/api/usage?days=${days}`),
    staleTime: 0,
  });
}
