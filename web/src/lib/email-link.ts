const secretFields = ["access_token", "refresh_token", "code"] as const;
/** Fields of the query that a link of an e-mail adds to the address that it leads to. */
const queryFields = ["code", "error", "error_code", "error_description", "message"];

/**
 * Parameters that a link of an e-mail put into the address.
 *
 * - `code`: exchanged for a session by the browser that asked for the link (PKCE)
 * - `access_token`, `refresh_token`, `type`: a session for whoever opens the link, and the kind of the e-mail:
 *   `signup`, `recovery`, `email_change`, `invite` or `magiclink`
 * - `error_code`: why the link was refused
 * - `message`: present when another link has to be opened too
 */
export interface EmailLink {
  readonly params: URLSearchParams;
  /** The address without these parameters. */
  readonly cleanUrl: string;
}

/** Reads the parameters of a mailed link from an address; undefined when there are none. */
export function readEmailLink(href: string): EmailLink | undefined {
  const url = new URL(href);
  const fragment = new URLSearchParams(url.hash.slice(1));
  const isMailed = fragment.has("access_token") || fragment.has("error") || fragment.has("message");
  // 32 bytes as base64url. Other services come back with a `code` of their own form.
  const code = url.searchParams.get("code");
  const isExchange = code !== null && /^[\w-]{43}$/u.test(code);
  if (!isMailed && !isExchange) return undefined;
  const params = isMailed ? fragment : new URLSearchParams();
  // A session for everybody and a code for this browser never come together; the code is the safer one.
  if (isExchange) params.set("code", code);
  for (const field of queryFields) url.searchParams.delete(field);
  return { params, cleanUrl: url.pathname + url.search };
}

const found = globalThis.location === undefined ? undefined : readEmailLink(location.href);
// Before anything is loaded or rendered: a token in the address ends in the history, in a screenshot or in a copied link.
if (found !== undefined) history.replaceState(history.state, "", found.cleanUrl);

// A link to the page that is open already changes nothing but what stands behind the `#`.
globalThis.addEventListener?.("hashchange", () => {
  if (readEmailLink(location.href) !== undefined) location.reload();
});

/** Parameters of the mailed link that opened this page; empty when none did. */
export const emailLinkParams: URLSearchParams = found?.params ?? new URLSearchParams();

/** Whether the link offers a session, which is not taken before it is known whose it is. */
export const emailLinkOffersSession: boolean = secretFields.some((field) => emailLinkParams.has(field));

/** What the sign-in screen says first about the link that led to it. */
export type EmailLinkResult = "confirmed" | "other-browser" | "expired";

let result: EmailLinkResult | undefined =
  emailLinkParams.get("error_code") === "otp_expired" ? "expired" : undefined;

export function readEmailLinkResult(): EmailLinkResult | undefined {
  return result;
}

export function setEmailLinkResult(next: EmailLinkResult | undefined): void {
  result = next;
}
