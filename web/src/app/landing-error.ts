import { auth } from "@/lib/session";
import { t } from "@/lib/t";
import { toast } from "@/ui/toast";

/** Tells why a link of an e-mail did not sign in; the auth service puts that into the address it leads to. */
export async function tellLandingError(): Promise<void> {
  const reason = new URLSearchParams(location.hash.slice(1)).get("error_description");
  if (reason === null) return;
  toast({ title: t("auth.signInFailed"), description: reason, tone: "err" });
  // The auth client reads the address too, so it is tidied up only afterwards.
  await auth.initialize();
  history.replaceState(history.state, "", location.pathname + location.search);
}
