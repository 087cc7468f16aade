import { AuthClient, isAuthRetryableFetchError, type Session } from "@supabase/auth-js";
import { useSyncExternalStore } from "react";
import { emailLinkOffersSession } from "./email-link";
import { rememberPasswordDue } from "./sign-in-step";
import { claimsOf, type SignInStep, stepOf } from "./sign-in-step";
import { endLifetime } from "./user-data";

/** Identifies this page to the API. It grants nothing; only the session's bearer token does. */
export const publicApiKey = "sb_publishable_ai_chat_mcp";

export interface SignedInUser {
  id: string;
  email: string;
  /** Display name of the user; may be empty. */
  name: string;
}

/** State of the session. */
export type SessionState =
  | { status: "checking" }
  | { status: "signed-out" }
  | { status: SignInStep; user: SignedInUser };

/** Seconds to wait according to the auth service's latest response, or 0. */
export let retryAfterSeconds = 0;

/** Key of the session in local storage. */
export const storageKey = `sb-${location.hostname.split(".")[0]}-auth-token`;

/** The official auth client. It stores the session in local storage, refreshes it, and notifies other tabs. */
export const auth = new AuthClient({
  url: `${location.origin}/auth/v1`,
  headers: { apikey: publicApiKey },
  storageKey,
  persistSession: true,
  autoRefreshToken: true,
  // A session in the URL may belong to anyone; `linked-session.ts` asks before accepting it.
  detectSessionInUrl: false,
  flowType: "pkce",
  experimental: { recoveryCodes: true },
  fetch: async (input, init) => {
    const response = await fetch(input, init);
    // The client's errors do not contain it.
    retryAfterSeconds = Number(response.headers.get("retry-after"));
    return response;
  },
});

const checking: SessionState = { status: "checking" };
/** True while the link that opened this page is not processed. */
let isEmailLinkPending = emailLinkOffersSession;
let state: SessionState = checking;
let lastUserId: string | undefined;
const listeners = new Set<() => void>();

auth.onAuthStateChange((event, session) => {
  if (event === "PASSWORD_RECOVERY" && session)
    rememberPasswordDue(claimsOf(session.access_token).session_id);
  // Until a new password is chosen, only the password can be changed.
  if (event === "USER_UPDATED") rememberPasswordDue(undefined);
  const next = stateOf(session);
  // The client repeats SIGNED_IN whenever the tab becomes visible.
  if (sameState(state, next)) return;
  const userId = userIdOf(next);
  const left = userIdOf(state);
  state = next;
  if (left !== undefined && left !== userId) endLifetime("session");
  // Before the server is notified, which may take long: the next user may already be at the screen.
  if (isLeaving && userId === undefined) {
    endLifetime("user");
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A channel has no target origin.
    departures.postMessage(null);
  }
  if (userId !== undefined) {
    if (userId !== lastUserId) endLifetime("user");
    lastUserId = userId;
  }
  for (const listener of listeners) listener();
});

/** Subscribes to the state of the session. */
export function useSession(): SessionState {
  return useSyncExternalStore(subscribe, readSession);
}

export function readSession(): SessionState {
  return isEmailLinkPending ? checking : state;
}

/** Shows the page after a link's session was accepted or refused. */
export function finishEmailLink(): void {
  isEmailLinkPending = false;
  for (const listener of listeners) listener();
}

/** Returns the bearer token, refreshed if it is about to expire; undefined without a session. */
export async function accessToken(): Promise<string | undefined> {
  const { data } = await auth.getSession();
  return data.session?.access_token;
}

/**
 * Returns a token to replace a refused one. If the refresh is refused as well, the session is dropped here, because the
 * auth client keeps a session until its own expiry.
 */
export async function renewedToken(refused: string | undefined): Promise<string | undefined> {
  const current = await accessToken();
  if (current !== undefined && current !== refused) return current;
  const { data, error } = await auth.refreshSession();
  if (error !== null && !isAuthRetryableFetchError(error)) await dropSession();
  return data.session?.access_token;
}

/**
 * Tells other tabs about a deliberate sign-out; the auth client does not distinguish it from other ends of a session.
 */
const departures = new BroadcastChannel("ai-chat-mcp.sign-out");
let isLeaving = false;
departures.addEventListener("message", () => endLifetime("user"));

/** Signs the user out in all tabs of this browser and deletes their drafts. */
export async function signOut(): Promise<void> {
  isLeaving = true;
  await dropSession();
  isLeaving = false;
}

/** Ends this browser's session in all tabs, even if the server is unreachable. Sessions of other browsers continue. */
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

function userIdOf(from: SessionState): string | undefined {
  return "user" in from ? from.user.id : undefined;
}

function sameState(a: SessionState, b: SessionState): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
