import { QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiError } from "./api-error";

/** The page's one cache of what the server said. Failed loads are logged; the screens show what they have. */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, query) => console.error("Loading failed:", query.queryKey[0], error),
  }),
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      retry: (failures, error) => failures < 2 && !(error instanceof ApiError && isFinal(error.status)),
    },
  },
});

/** A fault of the caller stays one however often it is repeated. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 429;
}
