import { callApi } from "./api-client";

/** Returns the path of the sign-in at a connection's server. */
export function signInPath(id: string): string {
  return `/api/connections/${encodeURIComponent(id)}/sign-in`;
}

/**
 * Starts a sign-in at a connection's server and returns its URL.
 * @throws {ApiError} if the sign-in server cannot be used
 */
export async function serverSignIn(id: string): Promise<URL> {
  return new URL((await callApi<{ url: string }>(signInPath(id), { method: "POST" })).url);
}
