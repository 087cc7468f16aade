import { queryOptions } from "@tanstack/react-query";
import type { AuthError, Factor } from "@supabase/auth-js";
import { t } from "@/lib/later-texts";
import { authErrorMessage } from "@/lib/auth-error-message";
import { auth } from "@/lib/session";

/** Returns the query for the user's verified authenticators. */
export function factorsQuery(userId: string) {
  return queryOptions({
    queryKey: ["factors", userId],
    queryFn: async (): Promise<Factor[]> => {
      const { data, error } = await auth.mfa.listFactors();
      if (error !== null) throw error;
      return data.totp;
    },
  });
}

/** Returns the name of an authenticator, which may have none. */
export function factorName({ friendly_name: name }: Pick<Factor, "friendly_name">): string {
  return name === undefined || name === "" ? t("account.totp.unnamed") : name;
}

/** Returns the message for a rejected code. */
export function codeErrorWords(error: AuthError): string {
  if (error.code === "mfa_verification_failed") return t("account.code.wrong");
  if (error.code === "mfa_challenge_expired") return t("account.code.late");
  return authErrorMessage(error);
}
