const key = "ai-chat-mcp.password-due";

/**
 * Keeps that a sign-in came through a mailed link and still has to choose a password, for every tab and through
 * reloads. It names the sign-in, so that it means nothing for any other.
 */
export function rememberPasswordDue(sessionId: string | undefined): void {
  try {
    if (sessionId === undefined) localStorage.removeItem(key);
    else localStorage.setItem(key, sessionId);
  } catch {
    // Without storage the link signs in, and the password can be changed in the settings.
  }
}

export function isPasswordDue(sessionId: string | undefined): boolean {
  try {
    return sessionId !== undefined && localStorage.getItem(key) === sessionId;
  } catch {
    return false;
  }
}
