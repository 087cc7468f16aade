/**
 * What the link of an e-mail put into the address that it led to; read before the auth client starts, which tidies it up.
 *
 * - `type`: which mail it was: `signup`, `recovery`, `email_change`, `invite`, `magiclink`
 * - `access_token` and more: the session that it opened
 * - `error_code`, `error_description`: why it did not, in the server's words
 * - `message`: what the server has to say about a link that is only half of the way
 */
export const landing: Pick<URLSearchParams, "get" | "delete"> = new URLSearchParams(
  globalThis.location?.hash.slice(1),
);
