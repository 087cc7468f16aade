import { queryOptions } from "@tanstack/react-query";
import type { User } from "@supabase/auth-js";
import { auth, readSession } from "@/lib/session";

/**
 * The person as the server knows them now. What was changed in another browser reaches this one's session, and with it
 * the header.
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
