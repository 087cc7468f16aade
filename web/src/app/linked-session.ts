import { AuthClient, type AuthError, type Session } from "@supabase/auth-js";
import { rememberPasswordDue } from "@/lib/sign-in-step";
import { auth, publicApiKey, storageKey } from "@/lib/session";
import { claimsOf } from "@/lib/sign-in-step";

type GuestClient = InstanceType<typeof AuthClient>;

/** Session that an email link offers. Nothing of it is stored before {@link accept}. */
interface LinkedSession {
  readonly email: string;
  readonly userId: string;
  /** Kind of the email, as the server names it. */
  readonly kind: string | undefined;
  /** True if this browser requested the link, as the server has verified. */
  readonly isOurs: boolean;
  /** Signs in, in all tabs. */
  readonly accept: () => Promise<AuthError | null>;
  /** Ends the session on the server. */
  readonly refuse: () => Promise<void>;
}

/** Link without a usable session: it was requested by another browser, or is invalid. */
type UnusableLink = "other-browser" | { error: AuthError };

/** Requests the session of a link from the server. */
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
  // Without the right PKCE verifier the server has accepted the link, but not for this browser.
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
      // Must be known before the session exists; otherwise the main screen would flash first.
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
 * Creates a client with its session in memory and without events to other tabs. It finds and consumes the PKCE
 * verifiers of {@link auth}.
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
