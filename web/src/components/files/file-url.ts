import { createContext, use } from "react";
import { type FileRef, toFileRef } from "./file-ref";

/** Where files are read from: for the visitors of a shared chat, from its link. */
export const FileUrlContext = createContext<(url: string) => string>((url) => url);

/** A file from whatever names it, with the address at which this page may read it. */
export function useFileRef(file: unknown): FileRef | undefined {
  const resolveUrl = use(FileUrlContext);
  const ref = toFileRef(file);
  return ref && { ...ref, url: resolveUrl(ref.url) };
}
