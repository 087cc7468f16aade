import { ApiError } from "../api-error";
import { QueryClient } from "./query-client";

const mostRetries = 2;

/** The page's one memory of what the server said. Failed loads are logged; the screens show what they have. */
export const queryClient = new QueryClient({
  retry: (failures, error) => failures < mostRetries && !(error instanceof ApiError && isFinal(error.status)),
  onError: ([what], error) => console.error("Loading failed:", what, error),
});

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") queryClient.refreshStale();
});

/** A fault of the caller stays one however often it is repeated. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 429;
}
