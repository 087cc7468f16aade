import { AuthClient, type AuthError, type Session } from "@supabase/auth-js";
import { rememberPasswordDue } from "@/lib/password-due";
import { auth, publicApiKey, storageKey } from "@/lib/session";
import { claimsOf } from "@/lib/sign-in-step";

type GuestClient = InstanceType<typeof AuthClient>;

/** A session that a mailed link offers. Nothing of it is stored before {@link accept}. */
export interface LinkedSession {
  readonly email: string;
  readonly userId: string;
  /** Kind of the e-mail, in the server's word. */
  readonly kind: string | undefined;
  /** Whether this browser asked for the link, which the server has checked. */
  readonly isOurs: boolean;
  /** Signs in with it, in all tabs. */
  readonly accept: () => Promise<AuthError | null>;
  /** Ends it on the server. */
  readonly refuse: () => Promise<void>;
}

/** A link that offers no session here: it belongs to another browser, or its offer does not hold. */
export type UnusableLink = "other-browser" | { error: AuthError };

/** Learns from the server whose session a link offers. */
export async function readLinkedSession(
  params: Pick<URLSearchParams, "get">,
): Promise<LinkedSession | UnusableLink> {
  const guest = createGuestClient();
  const code = params.get("code");
  if (code === null) {
    const { data, error } = await guest.setSession({
      access_token: params.get("access_token") ?? "",
      refresh_token: params.get("refresh_token") ?? "",
    });
    if (data.session === null) return error === null ? "other-browser" : { error };
    return linkedSession(guest, data.session, params.get("type") ?? undefined, false);
  }
  const { data, error } = await guest.exchangeCodeForSession(code);
  if (data.session !== null) {
    const kind = claimsOf(data.session.access_token).amr?.[0]?.method;
    return linkedSession(guest, data.session, kind?.split("/").at(-1), true);
  }
  // Without a verifier, or with that of another link: the server has accepted the link, but not for this browser.
  const isForOthers =
    error === null ||
    error.name === "AuthPKCECodeVerifierMissingError" ||
    error.code === "bad_code_verifier" ||
    error.code === "flow_state_not_found";
  return isForOthers ? "other-browser" : { error };
}

function linkedSession(
  guest: GuestClient,
  session: Session,
  kind: string | undefined,
  isOurs: boolean,
): LinkedSession {
  return {
    email: session.user.email ?? "",
    userId: session.user.id,
    kind,
    isOurs,
    accept: async () => {
      // Known before the session is: the main screen must not be seen for a moment first.
      if (kind === "recovery" || kind === "invite")
        rememberPasswordDue(claimsOf(session.access_token).session_id);
      return (await auth.setSession(session)).error;
    },
    refuse: async () => {
      await guest.signOut({ scope: "local" });
    },
  };
}

/**
 * Creates a client that keeps its session in memory and tells no other tab. It finds the PKCE verifiers of {@link auth},
 * and uses them up.
 */
function createGuestClient(): GuestClient {
  const guestKey = `${storageKey}-guest`;
  const memory = new Map<string, string>();
  const isVerifier = (key: string) => key.endsWith("-code-verifier");
  const ours = (key: string) => key.replace(guestKey, storageKey);
  return new AuthClient({
    url: `${location.origin}/auth/v1`,
    headers: { apikey: publicApiKey },
    storageKey: guestKey,
    storage: {
      getItem: (key) => (isVerifier(key) ? localStorage.getItem(ours(key)) : (memory.get(key) ?? null)),
      setItem: (key, value) => void memory.set(key, value),
      removeItem: (key) => {
        memory.delete(key);
        if (isVerifier(key)) localStorage.removeItem(ours(key));
      },
    },
    persistSession: true,
    autoRefreshToken: false,
    detectSessionInUrl: false,
    flowType: "pkce",
  });
}
