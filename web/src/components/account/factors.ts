import { queryOptions } from "@tanstack/react-query";
import type { AuthError, Factor } from "@supabase/auth-js";
import { t } from "@/lib/account-text";
import { authErrorMessage } from "@/lib/auth-error-message";
import { auth } from "@/lib/session";

/** The authenticators of a person that have proved to work. */
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

/** What to call an authenticator; people may leave it unnamed. */
export function factorName({ friendly_name: name }: Pick<Factor, "friendly_name">): string {
  return name === undefined || name === "" ? t("account.totp.unnamed") : name;
}

/** Why a code was not taken, and what to do. */
export function codeErrorWords(error: AuthError): string {
  if (error.code === "mfa_verification_failed") return t("account.code.wrong");
  if (error.code === "mfa_challenge_expired") return t("account.code.late");
  return authErrorMessage(error);
}
