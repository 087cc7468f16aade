import { useCallback, useSyncExternalStore } from "react";
import { queryClient } from "./page-client";
import type { QueryClient, QueryOptions, QueryState } from "./query-client";

/** Ties a key to how it is loaded, and types both. */
export function queryOptions<Data>(options: QueryOptions<Data>): QueryOptions<Data> {
  return options;
}

/** What the server says to a query, for as long as the component looks at it. */
export function useQuery<Data>(options: QueryOptions<Data> & { enabled?: boolean }): QueryState<Data> {
  const { queryKey, enabled = true } = options;
  const hash = JSON.stringify(queryKey);
  const subscribe = useCallback(
    (listener: () => void) => (enabled ? queryClient.observe(options, listener) : () => undefined),
    // The key stands for the options: whoever names it loads it in the same way.
    // oxlint-disable-next-line react/exhaustive-deps
    [hash, enabled],
  );
  return useSyncExternalStore(subscribe, () => queryClient.getState(queryKey));
}

export function useQueryClient(): QueryClient {
  return queryClient;
}
