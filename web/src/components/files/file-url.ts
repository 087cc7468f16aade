import { createContext, use } from "react";
import { type FileRef, toFileRef } from "./file-ref";

/** Maps a file's path to the one to read it from: visitors of a shared chat read it through its link. */
export const FileUrlContext = createContext<(url: string) => string>((url) => url);

/** Validates a file reference and resolves its path for this page. */
export function useFileRef(file: unknown): FileRef | undefined {
  const resolveUrl = use(FileUrlContext);
  const ref = toFileRef(file);
  return ref && { ...ref, url: resolveUrl(ref.url) };
}
