import { QueryClientProvider } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { UserQueryClient } from "./user-query-client";

/**
 * Provides a screen with its own query cache. Screens of a signed-in user are keyed by the user's id, so that the next
 * user sees none of their data. The sign-in forms load nothing and need no cache.
 */
export function UserQueries({ children }: { children: ReactNode }) {
  const [queries] = useState(() => new UserQueryClient());
  return <QueryClientProvider client={queries}>{children}</QueryClientProvider>;
}
