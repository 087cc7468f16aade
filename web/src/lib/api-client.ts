import { errorOf, unreachableError } from "./api-error";
import { accessToken, dropSession, renewedToken } from "./session";
import { endedSessions } from "./user-data";

/**
 * Calls `fetch` with the session's bearer token. A refused token is renewed once; if that fails, the session ends and
 * the route guard shows the sign-in screen. Resolves to the response, whatever its status. If the user signs out in the
 * meantime, it never settles, because its caller belongs to the ended session.
 */
export async function authorizedFetch(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const session = endedSessions();
  const settled = await fetchWithToken(input, init).then(
    (response) => () => response,
    (cause: unknown) => () => {
      throw cause;
    },
  );
  return endedSessions() === session ? settled() : new Promise<never>(() => undefined);
}

async function fetchWithToken(input: RequestInfo | URL, init: RequestInit): Promise<Response> {
  const token = await accessToken();
  const response = await send(input, init, token);
  if (response.status !== 401) return response;
  const renewed = await renewedToken(token);
  if (renewed === undefined) return response;
  const second = await send(input, init, renewed);
  if (second.status === 401) await dropSession();
  return second;
}

/**
 * Calls the API and returns the response.
 * @throws {ApiError} if the server refuses, fails or is unreachable
 */
export async function fetchApi(path: string, init: RequestInit = {}): Promise<Response> {
  const response = await authorizedFetch(path, init).catch((cause: unknown) => {
    throw init.signal?.aborted === true ? cause : unreachableError();
  });
  if (!response.ok) throw await errorOf(response);
  return response;
}

/**
 * Calls the API and returns the JSON response.
 * @throws {ApiError} if the server refuses, fails or is unreachable
 */
export async function callApi<Answer>(path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetchApi(path, init);
  return (response.status === 204 ? undefined : await response.json()) as Answer;
}

/** Returns the options of a POST request with a JSON body. */
export function jsonBody(body: unknown, stringify: (value: unknown) => string = JSON.stringify): RequestInit {
  return { method: "POST", headers: { "content-type": "application/json" }, body: stringify(body) };
}

function send(input: RequestInfo | URL, init: RequestInit, token: string | undefined): Promise<Response> {
  const headers = new Headers(init.headers);
  if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
  return fetch(input, { ...init, headers });
}
