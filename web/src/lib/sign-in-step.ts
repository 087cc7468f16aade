import type { Session } from "@supabase/auth-js";
import { isPasswordDue } from "./password-due";

/** What is still to be done before a session opens the main screen. */
export type SignInStep = "needs-code" | "needs-password" | "signed-in";

/** Whether a session waits for the code of a second factor, or for a new password after a mailed link. */
export function stepOf({ access_token, user }: Session): SignInStep {
  const { aal, session_id } = claimsOf(access_token);
  const guarded = user.factors?.some((factor) => factor.status === "verified") ?? false;
  if (guarded && aal !== "aal2") return "needs-code";
  return isPasswordDue(session_id) ? "needs-password" : "signed-in";
}

interface Claims {
  aal?: string;
  /** The sign-in that the token belongs to; it stays the same through every renewal. */
  session_id?: string;
  /** How the person signed in, the newest first. */
  amr?: readonly { method: string }[];
}

/** What an access token says of itself. The server alone checks tokens; here they only choose a screen. */
export function claimsOf(token: string): Claims {
  try {
    const payload = token.split(".")[1] ?? "";
    return JSON.parse(atob(payload.replaceAll("-", "+").replaceAll("_", "/"))) as Claims;
  } catch {
    return {};
  }
}
