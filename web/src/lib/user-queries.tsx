import { QueryClientProvider } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { UserQueryClient } from "./user-query-client";

/**
 * Gives a screen a cache of its own for what it loads. A screen of a signed-in user is keyed by the user's id, so that
 * nothing loaded for one user is there for the next. The forms to sign in load nothing and do without it.
 */
export function UserQueries({ children }: { children: ReactNode }) {
  const [queries] = useState(() => new UserQueryClient());
  return <QueryClientProvider client={queries}>{children}</QueryClientProvider>;
}
