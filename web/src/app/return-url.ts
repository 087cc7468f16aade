import { forgetAfter } from "@/lib/user-data";

let savedUrl = "/";
let isSignOut = false;

// The next user must not get this user's URL.
forgetAfter("user", () => (savedUrl = "/"));

/** Saves the URL when a session ends, so that signing in again returns to it. */
export function saveReturnUrl(): void {
  if (!isSignOut) savedUrl = location.pathname + location.search;
}

/** Clears the saved URL, because the user signed out deliberately. */
export function clearReturnUrl(): void {
  isSignOut = true;
  savedUrl = "/";
}

/** Returns the URL at which a new session starts. */
export function returnUrl(): string {
  isSignOut = false;
  return savedUrl;
}
