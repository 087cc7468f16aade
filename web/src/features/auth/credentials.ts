import { authErrorMessage } from "@/lib/auth-error-message";
import { auth } from "@/lib/session";
import { t } from "@/lib/t";
import { toast } from "@/ui/toast";
import type { AuthStep } from "./auth-step";

export interface Credentials {
  email: string;
  password: string;
}

/** Signs in. The page continues when the auth client reports the new session. */
export async function signIn(credentials: Credentials): Promise<AuthStep | undefined> {
  const { error } = await auth.signInWithPassword(credentials);
  if (error === null) return undefined;
  toast({ title: t("auth.signInFailed"), description: authErrorMessage(error), tone: "err" });
  return error.code === "email_not_confirmed" ? { kind: "unconfirmed", mailed: false } : undefined;
}

/**
 * Creates an account, which is signed in at once unless its email address has to be confirmed. `metadata` is sent along, and
 * `messageOf` returns what an error means.
 */
export async function signUp(
  credentials: Credentials,
  metadata: object = {},
  messageOf = authErrorMessage,
): Promise<AuthStep | undefined> {
  const { data, error } = await auth.signUp({
    ...credentials,
    options: { emailRedirectTo: location.origin, data: metadata },
  });
  if (error !== null) {
    toast({ title: t("auth.signUpFailed"), description: messageOf(error), tone: "err" });
    return undefined;
  }
  const waits = data.session === null;
  const description = waits ? t("auth.created.confirm") : t("auth.created.signedIn");
  toast({ title: t("auth.created.title"), description, tone: "ok" });
  return waits ? { kind: "unconfirmed", mailed: true } : undefined;
}
