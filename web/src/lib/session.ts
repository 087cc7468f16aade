import { AuthClient, isAuthRetryableFetchError, type Session } from "@supabase/auth-js";
import { useSyncExternalStore } from "react";
import { clearDrafts } from "./drafts";
import { landing } from "./landing";
import { rememberPasswordDue } from "./password-due";
import { claimsOf, type SignInStep, stepOf } from "./sign-in-step";

/** Names this page to the API; it opens nothing, what counts is the session's bearer token. */
export const publicApiKey = "sb_publishable_ai_chat_mcp";

export interface SignedInUser {
  id: string;
  email: string;
  /** What the person wants to be called; empty when they have not said. */
  name: string;
}

/** Where the page stands with its session. */
export type SessionState =
  | { status: "checking" }
  | { status: "signed-out" }
  | { status: SignInStep; user: SignedInUser };

/** How long the auth service asked to wait in its latest answer, in seconds; 0 when it did not. */
export let retryAfterSeconds = 0;

/** The official auth client: it keeps the session in local storage, refreshes it, and tells the other tabs. */
export const auth = new AuthClient({
  url: `${location.origin}/auth/v1`,
  headers: { apikey: publicApiKey },
  storageKey: `sb-${location.hostname.split(".")[0]}-auth-token`,
  persistSession: true,
  autoRefreshToken: true,
  detectSessionInUrl: true,
  flowType: "implicit",
  fetch: async (input, init) => {
    const response = await fetch(input, init);
    // The client's errors do not carry it.
    retryAfterSeconds = Number(response.headers.get("retry-after"));
    return response;
  },
});

// Whoever comes to choose a password must not see the main screen for a moment first.
if (/recovery|invite/u.test(landing.get("type") ?? ""))
  rememberPasswordDue(claimsOf(landing.get("access_token") ?? "").session_id);

let state: SessionState = { status: "checking" };
let lastUserId: string | undefined;
const listeners = new Set<() => void>();

auth.onAuthStateChange((event, session) => {
  if (event === "PASSWORD_RECOVERY" && session)
    rememberPasswordDue(claimsOf(session.access_token).session_id);
  // Until it is chosen, nothing of the person can be changed but the password.
  if (event === "USER_UPDATED") rememberPasswordDue(undefined);
  const next = stateOf(session);
  // The client repeats SIGNED_IN whenever the tab comes back; the same user is not news.
  if (sameState(state, next)) return;
  if ("user" in next) {
    if (lastUserId !== next.user.id) clearDrafts();
    lastUserId = next.user.id;
  }
  state = next;
  for (const listener of listeners) listener();
});

/** The state of the session, for components. */
export function useSession(): SessionState {
  return useSyncExternalStore(subscribe, readSession);
}

export function readSession(): SessionState {
  return state;
}

/** The bearer token for a call, refreshed first if it is about to end; undefined without a session. */
export async function accessToken(): Promise<string | undefined> {
  const { data } = await auth.getSession();
  return data.session?.access_token;
}

/**
 * A token in place of one that the server refused. When the refresh is refused too, the session is over and is
 * dropped here, because the auth client keeps a session whose own time has not run out.
 */
export async function renewedToken(refused: string | undefined): Promise<string | undefined> {
  const current = await accessToken();
  if (current !== undefined && current !== refused) return current;
  const { data, error } = await auth.refreshSession();
  if (error !== null && !isAuthRetryableFetchError(error)) await dropSession();
  return data.session?.access_token;
}

/** Ends the session of this browser, in all its tabs, whether or not the server can be asked. Others go on. */
export async function dropSession(): Promise<void> {
  await auth.signOut({ scope: "local" });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function stateOf(session: Session | null): SessionState {
  if (session === null) return { status: "signed-out" };
  const { id, email = "", user_metadata } = session.user;
  const name: unknown = user_metadata?.["display_name"];
  return { status: stepOf(session), user: { id, email, name: typeof name === "string" ? name : "" } };
}

function sameState(a: SessionState, b: SessionState): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
