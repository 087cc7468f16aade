import { t } from "@/lib/later-texts";
import type { toast } from "@/ui/toast";
import { providerRefusal } from "./provider-refusal";

type ToastMessage = Parameters<typeof toast>[0];

/**
 * Returns the toast for a link without a session; undefined if a screen of its own shows the result. The texts are
 * ours, because anyone can write into a URL.
 */
export function toastForRefusal(
  link: Pick<URLSearchParams, "get" | "has">,
  email: string | undefined,
): ToastMessage | undefined {
  const refusal = link.has("error") ? providerRefusal(link.get("error_code")) : undefined;
  if (refusal !== undefined) return { title: t("auth.signInFailed"), description: refusal, tone: "err" };
  switch (link.get("error_code")) {
    case "otp_expired":
      // Signed-out users read it on the sign-in screen, with what to do next.
      if (email === undefined) return undefined;
      return { title: t("account.link.failed"), description: t("account.link.signedIn"), tone: "warn" };
    case "user_banned":
      return { title: t("auth.signInFailed"), description: t("account.link.banned"), tone: "err" };
    case "unexpected_failure":
      return { title: t("auth.signInFailed"), description: t("account.link.serverError"), tone: "err" };
    case null:
      break;
    default:
      return { title: t("auth.signInFailed"), description: t("account.link.failed.other"), tone: "err" };
  }
  if (link.has("error"))
    return { title: t("auth.signInFailed"), description: t("account.link.failed.other"), tone: "err" };
  if (link.has("message"))
    return { title: t("account.link.half"), description: t("account.link.half.text"), tone: "neutral" };
  return undefined;
}
