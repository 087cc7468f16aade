const secretFields = ["access_token", "refresh_token", "code"] as const;
/** Query fields that an email link adds to its target URL. */
const queryFields = ["code", "error", "error_code", "error_description", "message"];

/**
 * Parameters that an email link added to the URL.
 *
 * - `code`: exchanged for a session by the browser that requested the link (PKCE)
 * - `access_token`, `refresh_token`, `type`: a session for anyone who opens the link, and the kind of the email:
 * `signup`, `recovery`, `email_change`, `invite` or `magiclink`
 * - `error_code`: the reason why the link was refused
 * - `message`: present if another link has to be opened too
 */
interface EmailLink {
  readonly params: URLSearchParams;
  /** The URL without these parameters. */
  readonly cleanUrl: string;
}

/** Reads the parameters of an email link; undefined if there are none. */
export function readEmailLink(href: string): EmailLink | undefined {
  const url = new URL(href);
  const fragment = new URLSearchParams(url.hash.slice(1));
  const isMailed = ["access_token", "error", "message"].some((field) => fragment.has(field));
  // 32 bytes as base64url. Other services use a `code` of their own format.
  const code = url.searchParams.get("code");
  const isExchange = code !== null && /^[\w-]{43}$/u.test(code);
  if (!isMailed && !isExchange) return undefined;
  const params = isMailed ? fragment : new URLSearchParams();
  // A link has either a session or a code; the code is safer.
  if (isExchange) params.set("code", code);
  for (const field of queryFields) url.searchParams.delete(field);
  return { params, cleanUrl: url.pathname + url.search };
}

const found = globalThis.location === undefined ? undefined : readEmailLink(location.href);
// Before anything is loaded: tokens must not end up in the history, a screenshot or a copied link.
if (found !== undefined) history.replaceState(history.state, "", found.cleanUrl);

/** Returns true if the URL is an operator's link to sign up. Its token stays in the URL for a reload. */
const permitsSignUp = () => globalThis.location?.hash.startsWith("#registration");

// A link to the open page only changes its fragment, which loads nothing.
globalThis.addEventListener?.("hashchange", () => {
  if (permitsSignUp() || readEmailLink(location.href) !== undefined) location.reload();
});

/** Parameters of the email link that opened this page, or empty. */
export const emailLinkParams: URLSearchParams = found?.params ?? new URLSearchParams();

/** True if the link offers a session, which is accepted only after its account is known. */
export const emailLinkOffersSession: boolean = secretFields.some((field) => emailLinkParams.has(field));

/** What a link leads to that the sign-in screen shows first: one of its steps. */
export type EmailLinkResult = "confirmed" | "link-elsewhere" | "link-failed" | "register";

let result: EmailLinkResult | undefined;
if (permitsSignUp()) result = "register";
if (emailLinkParams.get("error_code") === "otp_expired") result = "link-failed";

export function readEmailLinkResult(): EmailLinkResult | undefined {
  return result;
}

export function setEmailLinkResult(next: EmailLinkResult | undefined): void {
  result = next;
}
