import { ApiError, errorOf, unreachableError } from "@/lib/api-error";
import { accessToken, renewedToken } from "@/lib/session";
import { temporaryChats } from "../composer/draft";

/** File that the server has stored. */
interface Uploaded {
  readonly id: string;
  readonly name: string;
  readonly mediaType: string;
  readonly size: number;
}

interface UploadOptions {
  chatId: string;
  /** Share of the bytes sent, from 0 to 1. */
  onProgress: (share: number) => void;
  signal: AbortSignal;
}

/**
 * Uploads a file and reports the progress.
 * @throws {ApiError} if the server refuses it or cannot be reached
 */
export async function upload(file: File, options: UploadOptions): Promise<Uploaded> {
  const token = await accessToken();
  const first = await put(file, token, options);
  const renewed = first.status === 401 ? await renewedToken(token) : undefined;
  const response = renewed === undefined ? first : await put(file, renewed, options);
  if (!response.ok) throw await errorOf(response);
  return (await response.json()) as Uploaded;
}

/** Sends with XMLHttpRequest, because `fetch` does not report upload progress. */
function put(file: File, token: string | undefined, options: UploadOptions): Promise<Response> {
  const { chatId, onProgress, signal } = options;
  const query = new URLSearchParams({ name: file.name });
  // Files of a temporary chat are not stored permanently either.
  if (temporaryChats.has(chatId)) query.set("sessionId", chatId);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/v1/files?${query.toString()}`);
    if (token !== undefined) request.setRequestHeader("authorization", `Bearer ${token}`);
    request.setRequestHeader("content-type", file.type === "" ? "application/octet-stream" : file.type);
    request.upload.addEventListener("progress", ({ loaded, total }) => onProgress(loaded / total));
    request.addEventListener("load", () => {
      const { status, responseText } = request;
      resolve(new Response(responseText, { status }));
    });
    request.addEventListener("error", () => reject(unreachableError()));
    request.addEventListener("abort", () => reject(new ApiError("", 0)));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

/** Deletes a file that was not sent. If that fails, the server deletes it later. */
export function deleteUpload(id: string): void {
  void accessToken()
    .then((token) =>
      fetch(`/v1/files/${id}`, { method: "DELETE", headers: { authorization: `Bearer ${token ?? ""}` } }),
    )
    .catch(() => undefined);
}
