import { authorizedFetch } from "./api-client";
import { ApiError, errorOf } from "./api-error";
import { t } from "./t";

/** A file that the server made. */
export interface Download {
  name: string;
  content: Blob;
}

/** Fetches a file with the name that the server gives it.
 * @throws {ApiError} when the server refuses or the file breaks off */
export async function fetchFile(path: string): Promise<Download> {
  try {
    const response = await authorizedFetch(path);
    if (!response.ok) throw await errorOf(response);
    const named = /filename="([^"]+)"/u.exec(response.headers.get("content-disposition") ?? "")?.[1];
    return { name: named ?? "ai-chat-mcp", content: await response.blob() };
  } catch (cause) {
    throw cause instanceof ApiError ? cause : new ApiError(t("error.unreachable"), 0);
  }
}

/** Hands a file to the browser's downloads. */
export function saveFile({ name, content }: Download): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has begun to read it by the next turn of the event loop.
  setTimeout(() => URL.revokeObjectURL(url));
}
