/** Says in a window's session storage that it was opened for a sign-in alone. */
const signInWindow = "ai-chat-mcp.sign-in-window";

/** Opens a sign-in in a window of its own, which closes itself when it is done and cannot reach this one. Whether it could. */
export function openSignIn(url: Promise<URL>): boolean {
  const opened = window.open("", "_blank");
  if (opened === null) return false;
  opened.sessionStorage.setItem(signInWindow, "yes");
  // Only a window that a script has opened may close itself; what is shown in it has no business with its opener.
  opened.opener = null;
  void url.then((place) => opened.location.replace(place));
  return true;
}

/** Whether this window was opened for a sign-in alone. From now on it is one like any other. */
export function endSignInWindow(): boolean {
  const was = sessionStorage.getItem(signInWindow) !== null;
  sessionStorage.removeItem(signInWindow);
  return was;
}
