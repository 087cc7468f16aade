import { queryOptions } from "@tanstack/react-query";
import { callApi } from "@/lib/api-client";

import type { UsageReport } from "./usage";

/** What the last days cost. */
export function usageQuery(userId: string, days: number) {
  return queryOptions({
    queryKey: ["usage", userId, String(days)],
    queryFn: () => callApi<UsageReport>(`/api/usage?days=${days}`),
    staleTime: 0,
  });
}
