import assert from "node:assert/strict";
import type { TestApp } from "./app.ts";
import { browser, type Client, newEmail, ok, password } from "./auth-browser.ts";
import type { Mailbox } from "./mailbox.ts";

/** A browser whose links end with a code that only it can exchange. */
export const pkceBrowser = (app: TestApp): Client => browser(app, globalThis.fetch, "pkce");

/** Returns the target of a link without opening it. */
export async function landingOf(link: string): Promise<URL> {
  const answer = await fetch(link, { redirect: "manual" });
  assert.equal(answer.status, 303);
  return new URL(answer.headers.get("location") ?? "");
}

/** Parses the fragment of a URL. */
export const fragmentOf = (url: URL): Record<string, string> =>
  Object.fromEntries(new URLSearchParams(url.hash.slice(1)));

/** Returns the target of a link that is refused. */
export const deadLink = {
  error: "access_denied",
  error_code: "otp_expired",
  error_description: "Email link is invalid or has expired",
  sb: "",
};

/** Follows a link, and gives its sign-in to a browser as the page would. Answers what the link was for. */
export async function follow(client: Client, link: string): Promise<string> {
  const { access_token = "", refresh_token = "", type = "", ...rest } = fragmentOf(await landingOf(link));
  assert.deepEqual(Object.keys(rest).toSorted(), ["expires_at", "expires_in", "sb", "token_type"]);
  ok(await client.setSession({ access_token, refresh_token }));
  return type;
}

/** Creates a signed-in user with a confirmed address. */
export async function confirmed(app: TestApp, mailbox: Mailbox, client = browser(app)): Promise<string> {
  const email = newEmail();
  ok(await client.signUp({ email, password }));
  const { code } = await mailbox.next(email);
  ok(await client.verifyOtp({ email, token: code, type: "signup" }));
  return email;
}

/** Returns the latest authentication method in the browser's access token. */
export async function methodOf(client: Client): Promise<string | undefined> {
  const amr = ok(await client.getClaims())?.claims.amr as { method: string }[] | undefined;
  return amr?.[0]?.method;
}

interface Refused {
  error: { status?: number | undefined; code?: string | undefined; message: string } | null;
}

/** Status, code and words of a refusal. */
export const refusalOf = ({ error }: Refused) => [error?.status, error?.code, error?.message];
