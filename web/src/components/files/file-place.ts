import { createContext, use } from "react";
import { type FileRef, toFileRef } from "./file-ref";

/** Where files are read from: for the visitors of a shared chat, from its link. */
export const FilePlace = createContext<(url: string) => string>((url) => url);

/** A file from whatever names it, with the address at which this page may read it. */
export function usePlacedFile(file: unknown): FileRef | undefined {
  const place = use(FilePlace);
  const known = toFileRef(file);
  return known && { ...known, url: place(known.url) };
}
