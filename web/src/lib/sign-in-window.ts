/** Says in a window's session storage that it was opened for a sign-in alone. */
export const signInWindow = "ai-chat-mcp.sign-in-window";

/** Opens a sign-in in a window of its own, which closes itself when it is done and cannot reach this one. Whether it could. */
export function openSignIn(url: URL): boolean {
  const opened = window.open("", "_blank");
  if (opened === null) return false;
  opened.sessionStorage.setItem(signInWindow, "yes");
  // Only a window that a script has opened may close itself; what is shown in it has no business with its opener.
  opened.opener = null;
  opened.location.replace(url);
  return true;
}
