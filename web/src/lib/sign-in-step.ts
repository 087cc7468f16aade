import type { Session } from "@supabase/auth-js";

/** Step that a session requires before the main screen. */
export type SignInStep = "needs-code" | "needs-password" | "signed-in";

/** Returns whether a session requires the code of a second factor, or a new password after an email link. */
export function stepOf({ access_token, user }: Session): SignInStep {
  const { aal, session_id } = claimsOf(access_token);
  const guarded = user.factors?.some((factor) => factor.status === "verified") ?? false;
  if (guarded && aal !== "aal2") return "needs-code";
  return isPasswordDue(session_id) ? "needs-password" : "signed-in";
}

interface Claims {
  aal?: string;
  /** Id of the sign-in that the token belongs to; refreshing keeps it. */
  session_id?: string;
  /** Authentication methods, the newest first. */
  amr?: readonly { method: string }[];
}

/** Reads the claims of an access token. Only the server verifies tokens; here they merely select a screen. */
export function claimsOf(token: string): Claims {
  try {
    const payload = token.split(".")[1] ?? "";
    return JSON.parse(atob(payload.replaceAll("-", "+").replaceAll("_", "/"))) as Claims;
  } catch {
    return {};
  }
}

const key = "ai-chat-mcp.password-due";

/**
 * Stores that a sign-in by an email link still requires a new password, for all tabs and through reloads. The flag is
 * tied to the sign-in.
 */
export function rememberPasswordDue(sessionId: string | undefined): void {
  try {
    if (sessionId === undefined) localStorage.removeItem(key);
    else localStorage.setItem(key, sessionId);
  } catch {
    // Without storage the link just signs in; the password can be changed in the settings.
  }
}

export function isPasswordDue(sessionId: string | undefined): boolean {
  try {
    return sessionId !== undefined && localStorage.getItem(key) === sessionId;
  } catch {
    return false;
  }
}
