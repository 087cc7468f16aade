import { forgetAfter } from "@/lib/user-data";

let savedUrl = "/";
let isSignOut = false;

// Where one user was is no business of the next.
forgetAfter("user", () => (savedUrl = "/"));

/** Keeps where the reader was when the session ended, so that signing in leads back there. */
export function saveReturnUrl(): void {
  if (!isSignOut) savedUrl = location.pathname + location.search;
}

/** Signing out on purpose leaves nothing to come back to. */
export function clearReturnUrl(): void {
  isSignOut = true;
  savedUrl = "/";
}

/** Where a fresh session begins. */
export function returnUrl(): string {
  isSignOut = false;
  return savedUrl;
}
