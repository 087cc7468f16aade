import { t } from "@/lib/account-text";
import { landing } from "@/lib/landing";
import { auth } from "@/lib/session";
import { t as common } from "@/lib/t";
import { toast } from "@/ui/toast";

/** Says what a mailed link has done, and tidies up the address, so that a reload does not say it again. */
export async function tellMailLanding(): Promise<void> {
  if (location.hash === "" && landing.get("access_token") === null) return;
  // The auth client reads the address too, so it is tidied up only afterwards.
  await auth.initialize();
  history.replaceState(history.state, "", location.pathname + location.search);
  const { data } = await auth.getSession();
  const said = wordsFor(landing, data.session?.user.email);
  if (said !== undefined) toast(said);
}

type Words = Parameters<typeof toast>[0];

/** What there is to say; undefined where a screen of its own says it. */
export function wordsFor(link: Pick<URLSearchParams, "get">, email: string | undefined): Words | undefined {
  const error = link.get("error_description");
  if (error !== null) {
    if (link.get("error_code") !== "otp_expired")
      return { title: common("auth.signInFailed"), description: error, tone: "err" };
    // Who is signed out reads it on the sign-in screen, with the ways on.
    if (email === undefined) return undefined;
    return { title: t("account.link.failed"), description: t("account.link.signedIn"), tone: "warn" };
  }
  const message = link.get("message");
  if (message !== null) return { title: t("account.link.half"), description: message, tone: "neutral" };
  if (email === undefined) return undefined;
  if (link.get("type") === "signup")
    return { title: t("account.confirmed"), description: common("auth.created.signedIn"), tone: "ok" };
  if (link.get("type") === "email_change")
    return {
      title: t("account.email.changed"),
      description: t("account.email.changedTo", { email }),
      tone: "ok",
    };
  return undefined;
}
