import { isObject } from "@/lib/json";
import { t } from "./file-text";

/** A file at the server. */
export interface FileRef {
  /** Where it is served. */
  readonly url: string;
  readonly mediaType: string;
  readonly filename?: string | undefined;
  /** In bytes. */
  readonly size: number;
}

/** Files are served by this program alone: nothing is fetched from an address that somebody else wrote. */
const OWN = /^\/(?:v1\/files|api\/shared\/[\w-]+\/files)\/[\w-]+$/u;
const PICTURE = /^image\/(?:png|jpeg|gif|webp)$/u;
const TEXT = /^(?:text\/|application\/json$)/u;

/** A file from whatever a stream, the database or a result holds; nothing where it names none of ours. */
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

/** Whether it is drawn; everything else is saved. */
export const isPicture = ({ mediaType }: Pick<FileRef, "mediaType">): boolean => PICTURE.test(mediaType);

/** Whether it can be read as it is. */
export const isText = ({ mediaType }: Pick<FileRef, "mediaType">): boolean => TEXT.test(mediaType);

/** What it is called. */
export function nameOf(file: FileRef): string {
  return file.filename ?? t(isPicture(file) ? "files.picture" : "files.file");
}

/** A size in words. */
export function formatSize(bytes: number): string {
  if (bytes < 1_000) return t("files.bytes", { n: bytes });
  const inKb = bytes / 1_000;
  return inKb < 999.5
    ? t("files.kb", { n: Math.round(inKb) })
    : t("files.mb", { n: (inKb / 1_000).toFixed(1) });
}
