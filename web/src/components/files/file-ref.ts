import { createContext, use } from "react";
import { isObject } from "@/lib/json";
import { t } from "@/lib/later-texts";

/** File on the server. */
export interface FileRef {
  /** Path on the server. */
  readonly url: string;
  readonly mediaType: string;
  readonly filename?: string | undefined;
  /** In bytes. */
  readonly size: number;
}

/** Files come from this server only; no other address is ever fetched. */
const OWN = /^\/(?:v1\/files|api\/shared\/[\w-]+\/files)\/[\w-]+$/u;
const PICTURE = /^image\/(?:png|jpeg|gif|webp)$/u;
const TEXT = /^(?:text\/|application\/json$)/u;

/** Validates a file reference; undefined if it names no file of this server. */
export function toFileRef(value: unknown): FileRef | undefined {
  if (!isObject(value)) return undefined;
  const { url, mediaType, filename, size } = value;
  if (typeof url !== "string" || !OWN.test(url)) return undefined;
  return {
    url,
    mediaType: typeof mediaType === "string" ? mediaType : "",
    size: typeof size === "number" ? size : 0,
    ...(typeof filename === "string" && filename !== "" && { filename }),
  };
}

/** Returns true if the file is displayed as an image; all others are saved. */
export const isPicture = ({ mediaType }: Pick<FileRef, "mediaType">): boolean => PICTURE.test(mediaType);

/** Returns true if the file can be previewed as text. */
export const isText = ({ mediaType }: Pick<FileRef, "mediaType">): boolean => TEXT.test(mediaType);

/** Returns the file's name, or a default. */
export function nameOf(file: FileRef): string {
  return file.filename ?? t(isPicture(file) ? "files.picture" : "files.file");
}

/** Formats a size in bytes. */
export function formatSize(bytes: number): string {
  if (bytes < 1_000) return t("files.bytes", { n: bytes });
  const inKb = bytes / 1_000;
  return inKb < 999.5 ? t("files.kb", { n: Math.round(inKb) }) : t("files.mb", { n: inKb / 1_000 });
}

/** Maps a file's path to the one to read it from: visitors of a shared chat read it through its link. */
export const FileUrlContext = createContext<(url: string) => string>((url) => url);

/** Validates a file reference and resolves its path for this page. */
export function useFileRef(file: unknown): FileRef | undefined {
  const resolveUrl = use(FileUrlContext);
  const ref = toFileRef(file);
  return ref && { ...ref, url: resolveUrl(ref.url) };
}
