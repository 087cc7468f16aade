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
