import { AuthClient, isAuthRetryableFetchError, type Session } from "@supabase/auth-js";
import { useSyncExternalStore } from "react";
import { emailLinkOffersSession } from "./email-link";
import { rememberPasswordDue } from "./password-due";
import { claimsOf, type SignInStep, stepOf } from "./sign-in-step";
import { endLifetime } from "./user-data";

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

/** Key of the session in local storage. */
export const storageKey = `sb-${location.hostname.split(".")[0]}-auth-token`;

/** The official auth client: it keeps the session in local storage, refreshes it, and tells the other tabs. */
export const auth = new AuthClient({
  url: `${location.origin}/auth/v1`,
  headers: { apikey: publicApiKey },
  storageKey,
  persistSession: true,
  autoRefreshToken: true,
  // A session in the address may be anybody's: `linked-session.ts` asks before it is taken.
  detectSessionInUrl: false,
  flowType: "pkce",
  fetch: async (input, init) => {
    const response = await fetch(input, init);
    // The client's errors do not carry it.
    retryAfterSeconds = Number(response.headers.get("retry-after"));
    return response;
  },
});

const checking: SessionState = { status: "checking" };
/** Whether the link that opened this page still has to be dealt with. */
let isEmailLinkPending = emailLinkOffersSession;
let state: SessionState = checking;
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
  const userId = userIdOf(next);
  const left = userIdOf(state);
  state = next;
  if (left !== undefined && left !== userId) endLifetime("session");
  // Before the server is told: that may take its time, and another may sit down here meanwhile.
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

/** The state of the session, for components. */
export function useSession(): SessionState {
  return useSyncExternalStore(subscribe, readSession);
}

export function readSession(): SessionState {
  return isEmailLinkPending ? checking : state;
}

/** Shows the page after the session of a link was taken or left. */
export function finishEmailLink(): void {
  isEmailLinkPending = false;
  for (const listener of listeners) listener();
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

/** Tells the other tabs that the user leaves: the auth client reports any end of a session alike. */
const departures = new BroadcastChannel("ai-chat-mcp.sign-out");
let isLeaving = false;
departures.addEventListener("message", () => endLifetime("user"));

/** Signs the user out at their own wish, in all tabs of this browser, and forgets what they had begun to write. */
export async function signOut(): Promise<void> {
  isLeaving = true;
  await dropSession();
  isLeaving = false;
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

function userIdOf(from: SessionState): string | undefined {
  return "user" in from ? from.user.id : undefined;
}

function sameState(a: SessionState, b: SessionState): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
