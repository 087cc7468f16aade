import { callApi } from "./api-client";

/** Returns the path of the sign-in at a connection's server. */
export function signInPath(id: string): string {
  return `/api/connections/${encodeURIComponent(id)}/sign-in`;
}

/**
 * Starts a sign-in at a connection's server and returns its URL.
 * @throws {ApiError} if the sign-in server cannot be used
 */
export async function serverSignIn(id: string): Promise<URL> {
  return new URL((await callApi<{ url: string }>(signInPath(id), { method: "POST" })).url);
}

/** Session storage key that marks a window as opened for a sign-in only. */
const signInWindow = "ai-chat-mcp.sign-in-window";

/**
 * Opens a sign-in in a window of its own, which closes itself afterwards and cannot access this one. Returns true if it
 * was opened.
 */
export function openSignIn(url: Promise<URL>): boolean {
  const opened = window.open("", "_blank");
  if (opened === null) return false;
  opened.sessionStorage.setItem(signInWindow, "yes");
  // Only windows opened by script may close themselves, so `noopener` is no option; this prevents access to the opener
  // as well.
  opened.opener = null;
  void url.then((place) => opened.location.replace(place));
  return true;
}

/** Returns true if this window was opened for a sign-in only, and removes its mark. */
export function endSignInWindow(): boolean {
  const was = sessionStorage.getItem(signInWindow) !== null;
  sessionStorage.removeItem(signInWindow);
  return was;
}
