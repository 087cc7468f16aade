import { forgetAfter } from "@/lib/user-data";

let place = "/";
let leftOnPurpose = false;

// Where one user was is no business of the next.
forgetAfter("user", () => (place = "/"));

/** Keeps where the reader was when the session ended, so that signing in leads back there. */
export function rememberPlace(): void {
  if (!leftOnPurpose) place = location.pathname + location.search;
}

/** Signing out on purpose leaves nothing to come back to. */
export function forgetPlace(): void {
  leftOnPurpose = true;
  place = "/";
}

/** Where a fresh session begins. */
export function placeToReturnTo(): string {
  leftOnPurpose = false;
  return place;
}
