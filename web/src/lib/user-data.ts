/**
 * Lifetime of data that a module holds for the signed-in user: `session` ends with the session in any way; `user`
 * survives an expired session, for the same user to return, and ends when they sign out or another user signs in.
 */
type Lifetime = "session" | "user";

const cleanups: Readonly<Record<Lifetime, Set<() => void>>> = { session: new Set(), user: new Set() };

/**
 * Registers a function that deletes a module's data of a user, so that the next user of the tab finds none of it.
 * Returns a function that unregisters it.
 */
export function forgetAfter(lifetime: Lifetime, forget: () => void): () => void {
  cleanups[lifetime].add(forget);
  return () => cleanups[lifetime].delete(forget);
}

/** Deletes the data of all modules whose lifetime has ended. */
export function endLifetime(lifetime: Lifetime): void {
  if (lifetime === "session") sessionCount++;
  for (const forget of cleanups[lifetime]) forget();
}

let sessionCount = 0;

/** Returns the number of sessions that have ended on this page. Requests from before the last end must be discarded. */
export function endedSessions(): number {
  return sessionCount;
}
