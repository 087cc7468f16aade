/**
 * How long something that a module keeps for the signed-in user may live: `session` ends with the session, whatever
 * ends it; `user` outlives a session that ran out, for the same user to come back to, and ends when they sign out or
 * when somebody else signs in.
 */
type Lifetime = "session" | "user";

const cleanups: Readonly<Record<Lifetime, Set<() => void>>> = { session: new Set(), user: new Set() };

/**
 * Registers how a module forgets what it keeps for a user, so that the next user of the tab finds nothing of it.
 * Returns a function that takes the registration back.
 */
export function forgetAfter(lifetime: Lifetime, forget: () => void): () => void {
  cleanups[lifetime].add(forget);
  return () => cleanups[lifetime].delete(forget);
}

/** Has every module forget what has come to the end of its lifetime. */
export function endLifetime(lifetime: Lifetime): void {
  if (lifetime === "session") sessionCount++;
  for (const forget of cleanups[lifetime]) forget();
}

let sessionCount = 0;

/** Number of sessions that have ended on this page: a request begun under another number is nobody's any more. */
export function endedSessions(): number {
  return sessionCount;
}
