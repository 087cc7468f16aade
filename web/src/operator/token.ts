import { useSyncExternalStore } from "react";

const STORAGE_KEY = "operator-token";

const listeners = new Set<() => void>();
let token = readStored();
let wasRefused = false;

/** Returns the operator's token, or null before the sign-in. */
export function useToken(): string | null {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => token,
  );
}

export function currentToken(): string | null {
  return token;
}

/** Keeps a token for this tab, or forgets the present one with null. */
export function setToken(next: string | null): void {
  token = next;
  wasRefused = false;
  try {
    if (next === null) sessionStorage.removeItem(STORAGE_KEY);
    else sessionStorage.setItem(STORAGE_KEY, next);
  } catch {
    // Storage can be forbidden; the token then lives as long as the page.
  }
  for (const listener of listeners) listener();
}

/** Forgets a token that the server has refused after it was accepted. A newer one stays. */
export function refuseToken(refused: string): void {
  if (refused !== token) return;
  setToken(null);
  wasRefused = true;
}

/** Returns true if the last token was refused, and not given up by the operator. */
export function tokenWasRefused(): boolean {
  return wasRefused;
}

function readStored(): string | null {
  try {
    return sessionStorage.getItem(STORAGE_KEY);
  } catch {
    return null;
  }
}
