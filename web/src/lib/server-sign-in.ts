import { callApi } from "./api-client";

/** Where a sign-in to the server of a connection is begun and ended. */
export function signInPath(id: string): string {
  return `/api/connections/${encodeURIComponent(id)}/sign-in`;
}

/** Where to send the browser to sign in to the server of a connection.
 * @throws {ApiError} when its sign-in server cannot be used */
export async function serverSignIn(id: string): Promise<URL> {
  return new URL((await callApi<{ url: string }>(signInPath(id), { method: "POST" })).url);
}
