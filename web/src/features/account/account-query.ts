import { queryOptions } from "@tanstack/react-query";
import type { User } from "@supabase/auth-js";
import { auth, readSession } from "@/lib/session";

/**
 * Returns the query for the user as the server knows them. Changes from another browser reach the session here, and
 * with it the header.
 */
export function accountQuery(userId: string) {
  return queryOptions({
    queryKey: ["account", userId],
    queryFn: async (): Promise<User> => {
      const { data, error } = await auth.getUser();
      if (error !== null) throw error;
      const session = readSession();
      if ("user" in session && session.user.email !== data.user.email) await auth.refreshSession();
      return data.user;
    },
  });
}
