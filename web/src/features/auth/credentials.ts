import { auth } from "@/lib/session";
import { t } from "@/lib/t";
import { toast } from "@/ui/toast";

export interface Credentials {
  email: string;
  password: string;
}

/** Signs in. The page moves on by itself, when the auth client reports the new session. */
export async function signIn(credentials: Credentials): Promise<void> {
  const { error } = await auth.signInWithPassword(credentials);
  if (error !== null) toast({ title: t("auth.signInFailed"), description: error.message, tone: "err" });
}

/** Creates an account, which is signed in at once unless it waits for the e-mail to be confirmed. */
export async function signUp(credentials: Credentials): Promise<void> {
  const { data, error } = await auth.signUp({
    ...credentials,
    options: { emailRedirectTo: location.origin },
  });
  if (error !== null) {
    toast({ title: t("auth.signUpFailed"), description: error.message, tone: "err" });
    return;
  }
  const description = data.session === null ? t("auth.created.confirm") : t("auth.created.signedIn");
  toast({ title: t("auth.created.title"), description, tone: "ok" });
}
