import { authErrorMessage } from "@/lib/auth-error-message";
import { emailLinkOffersSession, emailLinkParams, setEmailLinkResult } from "@/lib/email-link";
import { identityLinkMark } from "@/lib/identity-link";
import { t } from "@/lib/later-texts";
import { endSignInWindow } from "@/lib/server-sign-in";
import { auth, finishEmailLink } from "@/lib/session";
import type { PartKey, Plain } from "@/lib/t";
import type { Tone } from "@/ui/badge";
import { toast } from "@/ui/toast";
import { askForSignIn, showSignInDone } from "./full-screen-dialogs";
import { readLinkedSession } from "./linked-session";

/** Shows the result of the email link or redirect that opened the page. */
export function showRedirectResults(): void {
  showServiceRedirectResult();
  void showEmailLinkResult();
}

type ToastMessage = Parameters<typeof toast>[0];

/** Accepts the session of an email link, after a question if needed, and shows the result of the link. */
async function showEmailLinkResult(): Promise<void> {
  const isIdentityLink = takeIdentityLinkMark();
  if (emailLinkParams.size === 0) return;
  try {
    const message = emailLinkOffersSession ? await takeSession() : await toastForEmailLink();
    const shown = isIdentityLink ? toastForIdentityLink(message) : message;
    if (shown !== undefined) toast(shown);
  } catch {
    toast({ title: t("auth.signInFailed"), description: t("account.link.failed.other"), tone: "err" });
  } finally {
    finishEmailLink();
  }
}

/** Returns whether the page was opened at the end of linking an identity, and removes the mark of it from the URL. */
function takeIdentityLinkMark(): boolean {
  const url = new URL(location.href);
  if (!url.searchParams.has(identityLinkMark)) return false;
  url.searchParams.delete(identityLinkMark);
  history.replaceState(history.state, "", url.pathname + url.search + url.hash);
  return true;
}

/** Returns the toast after linking an identity: that of a refusal with a title of its own, or else the success. */
export function toastForIdentityLink(refusal: ToastMessage | undefined): ToastMessage {
  return refusal === undefined
    ? { title: t("account.sso.linked"), tone: "ok" }
    : { ...refusal, title: t("account.sso.notLinked") };
}

async function takeSession(): Promise<ToastMessage | undefined> {
  const current = (await auth.getSession()).data.session?.user;
  const linked = await readLinkedSession(emailLinkParams);
  if (linked === "other-browser") {
    const isPassword = location.pathname === "/auth";
    if (current === undefined) {
      setEmailLinkResult(isPassword ? "link-elsewhere" : "confirmed");
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
  // Rare, so that its texts are not loaded with the page.
  const { toastForRefusal } = await import("./refused-link");
  return toastForRefusal(emailLinkParams, data.session?.user.email);
}

function staySignedInText(email: string | undefined): string {
  return t("account.link.stay", { email: email ?? "" });
}

interface Outcome {
  readonly title: Plain<PartKey<"account">>;
  readonly text: Plain<PartKey<"account">>;
  readonly tone: Tone;
}

const DRIVE_OUTCOMES: ReadonlyMap<string, Outcome> = new Map([
  ["linked", { title: "account.drive.linked", text: "account.drive.linked.text", tone: "ok" }],
  ["denied", { title: "account.drive.notLinked", text: "account.drive.denied", tone: "warn" }],
  ["expired", { title: "account.drive.notLinked", text: "account.drive.expired", tone: "err" }],
  ["failed", { title: "account.drive.notLinked", text: "account.drive.failed", tone: "err" }],
]);

const SERVER_OUTCOMES: ReadonlyMap<string, Outcome> = new Map([
  ["connected", { title: "account.server.connected", text: "account.server.connected.text", tone: "ok" }],
  ["denied", { title: "account.server.notSignedIn", text: "account.server.denied", tone: "warn" }],
  ["expired", { title: "account.server.notSignedIn", text: "account.server.expired", tone: "err" }],
  ["failed", { title: "account.server.notSignedIn", text: "account.server.failed", tone: "err" }],
]);

/** Query parameters of redirects from other services, with their outcomes. */
const services = [
  ["google-drive", DRIVE_OUTCOMES],
  ["sign-in", SERVER_OUTCOMES],
] as const;

/** Reads the outcome of a redirect from a query, and returns the query without it; undefined if there is none. */
export function readServiceRedirect(
  search: string,
): { outcome: Outcome | undefined; search: string } | undefined {
  const params = new URLSearchParams(search);
  for (const [parameter, outcomes] of services) {
    const named = params.get(parameter);
    if (named === null) continue;
    params.delete(parameter);
    return { outcome: outcomes.get(named), search: params.size === 0 ? "" : `?${params}` };
  }
  return undefined;
}

/** Shows the outcome of a redirect and removes it from the URL, so that a reload does not show it again. */
function showServiceRedirectResult(): void {
  const redirect = readServiceRedirect(location.search);
  if (redirect === undefined) return;
  history.replaceState(history.state, "", location.pathname + redirect.search + location.hash);
  const { outcome } = redirect;
  if (outcome === undefined) return;
  const [title, text] = [t(outcome.title), t(outcome.text)];
  if (!endSignInWindow()) {
    toast({ title, description: text, tone: outcome.tone });
    return;
  }
  // The window that waits for the sign-in shows the success itself.
  if (outcome === SERVER_OUTCOMES.get("connected")) window.close();
  // Visible only if the browser refuses to close the window.
  showSignInDone({ title, text });
}
