import { t } from "@/lib/later-texts";
import { authErrorMessage } from "@/lib/auth-error-message";
import { emailLinkParams, emailLinkOffersSession, setEmailLinkResult } from "@/lib/email-link";
import { auth, finishEmailLink } from "@/lib/session";
import { toast } from "@/ui/toast";
import { askForSignIn } from "./ask-for-sign-in";
import { readLinkedSession } from "./linked-session";

type ToastMessage = Parameters<typeof toast>[0];

/** Accepts the session of an email link, after a question if needed, and shows the result of the link. */
export async function showEmailLinkResult(): Promise<void> {
  if (emailLinkParams.size === 0) return;
  try {
    const message = emailLinkOffersSession ? await takeSession() : await toastForEmailLink();
    if (message !== undefined) toast(message);
  } catch {
    toast({ title: t("auth.signInFailed"), description: t("account.link.failed.other"), tone: "err" });
  } finally {
    finishEmailLink();
  }
}

async function takeSession(): Promise<ToastMessage | undefined> {
  const current = (await auth.getSession()).data.session?.user;
  const linked = await readLinkedSession(emailLinkParams);
  if (linked === "other-browser") {
    const isPassword = location.pathname === "/auth";
    if (current === undefined) {
      setEmailLinkResult(isPassword ? "other-browser" : "confirmed");
      return undefined;
    }
    return isPassword
      ? { title: t("account.link.elsewhere"), description: t("account.link.elsewhere.text"), tone: "warn" }
      : { title: t("account.confirmed"), description: staySignedInText(current.email), tone: "ok" };
  }
  if ("error" in linked)
    return { title: t("auth.signInFailed"), description: authErrorMessage(linked.error), tone: "err" };
  const isSameUser = current?.id === linked.userId;
  const needsQuestion = !isSameUser && (current !== undefined || !linked.isOurs);
  if (needsQuestion && !(await askForSignIn({ email: linked.email, current: current?.email }))) {
    await linked.refuse();
    if (current !== undefined || linked.kind !== "signup") return undefined;
    setEmailLinkResult("confirmed");
    return undefined;
  }
  const error = await linked.accept();
  if (error !== null)
    return { title: t("auth.signInFailed"), description: authErrorMessage(error), tone: "err" };
  return toastForSession(linked.kind, linked.email);
}

/** Returns the toast after signing in by a link; undefined if a screen of its own shows the result. */
export function toastForSession(kind: string | undefined, email: string): ToastMessage | undefined {
  if (kind === "signup")
    return { title: t("account.confirmed"), description: t("auth.created.signedIn"), tone: "ok" };
  if (kind === "email_change")
    return {
      title: t("account.email.changed"),
      description: t("account.email.changedTo", { email }),
      tone: "ok",
    };
  return undefined;
}

async function toastForEmailLink(): Promise<ToastMessage | undefined> {
  const { data } = await auth.getSession();
  return toastForRefusal(emailLinkParams, data.session?.user.email);
}

/**
 * Returns the toast for a link without a session; undefined if a screen of its own shows the result. The texts are
 * ours, because anyone can write into a URL.
 */
export function toastForRefusal(
  link: Pick<URLSearchParams, "get" | "has">,
  email: string | undefined,
): ToastMessage | undefined {
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

function staySignedInText(email: string | undefined): string {
  return t("account.link.stay", { email: email ?? "" });
}
