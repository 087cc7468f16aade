import {
  type InvalidateQueryFilters,
  QueryCache,
  QueryClient,
  QueryClientProvider,
  type QueryKey,
} from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { ApiError } from "./api-error";

/**
 * Provides a screen with its own query cache. Screens of a signed-in user are keyed by the user's id, so that the next
 * user sees none of their data. The sign-in forms load nothing and need no cache.
 */
export function UserQueries({ children }: { children: ReactNode }) {
  const [queries] = useState(() => new UserQueryClient());
  return <QueryClientProvider client={queries}>{children}</QueryClientProvider>;
}

const MAX_RETRIES = 2;

/**
 * Query cache of one signed-in user; the page creates a new one for each. A response to a request from before a change
 * never replaces the changed data: the library alone would let a first load finish after an invalidation, and any load
 * after `setQueryData`.
 */
export class UserQueryClient extends QueryClient {
  constructor() {
    super({
      defaultOptions: {
        queries: {
          staleTime: 15_000,
          retry: (failures, error) => failures < MAX_RETRIES && !isFinal(error),
          // The server may be this machine, which needs no network.
          networkMode: "always",
          refetchOnReconnect: true,
        },
        mutations: { networkMode: "always" },
      },
      queryCache: new QueryCache({
        onError: (error, { queryKey }) => console.error("Loading failed:", queryKey[0], error),
      }),
    });
  }

  override invalidateQueries: QueryClient["invalidateQueries"] = async (filters, options) => {
    for (const query of this.getQueryCache().findAll(filters as InvalidateQueryFilters))
      if (query.state.data === undefined) void query.cancel({ silent: true, revert: true });
    await super.invalidateQueries(filters, options);
  };

  override setQueryData: QueryClient["setQueryData"] = (queryKey, updater, options) => {
    const data = super.setQueryData(queryKey, updater as never, options) as never;
    if (data !== undefined) this.#askAgain(queryKey);
    return data;
  };

  #askAgain(queryKey: QueryKey): void {
    const query = this.getQueryCache().find({ queryKey, exact: true });
    if (query?.state.fetchStatus === "fetching") void this.invalidateQueries({ queryKey, exact: true });
  }
}

/** Returns true if a repeated request would fail again, because the request itself is wrong. */
function isFinal(error: Error): boolean {
  return error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429;
}
