import { type QueryClient, queryOptions, useQuery } from "@tanstack/react-query";
import { fetchApi } from "@/lib/api-client";
import { t } from "@/lib/later-texts";
import { saveFile } from "@/lib/save-file";
import { forgetAfter } from "@/lib/user-data";
import { toastFailure } from "@/ui/toast";
import { type FileRef, nameOf } from "./file-ref";

/**
 * Loads a file's bytes. The request needs the session's token, so no element can load them itself.
 * @throws {ApiError} if the server refuses or is unreachable
 */
export async function loadFile(url: string): Promise<Blob> {
  return (await fetchApi(url)).blob();
}

/** Returns the cached query for a file's bytes. */
export function fileQuery(url: string) {
  return queryOptions({
    queryKey: ["file", url],
    queryFn: () => loadFile(url),
    // Files never change.
    staleTime: Number.POSITIVE_INFINITY,
    // Loading the bytes again would hold them twice, because the object URL keeps the first.
    gcTime: Number.POSITIVE_INFINITY,
  });
}

/** Object URLs of loaded bytes, which keep them in memory until the session ends. */
const addresses = new Map<Blob, string>();
forgetAfter("session", () => {
  for (const address of addresses.values()) URL.revokeObjectURL(address);
  addresses.clear();
});

function addressOf(blob: Blob): string {
  const address = addresses.get(blob) ?? URL.createObjectURL(blob);
  addresses.set(blob, address);
  return address;
}

/** Loads a file; returns its bytes and their object URL once loaded. */
export function useFile(url: string): {
  src: string | undefined;
  blob: Blob | undefined;
  error: Error | null;
} {
  const { data: blob, error } = useQuery(fileQuery(url));
  return { src: blob && addressOf(blob), blob, error };
}

/** Saves a file with the browser's download. */
export async function saveAs(queries: QueryClient, file: FileRef): Promise<void> {
  const name = nameOf(file);
  try {
    const content = queries.getQueryData(fileQuery(file.url).queryKey) ?? (await loadFile(file.url));
    saveFile({ name, content });
  } catch (error) {
    toastFailure(t("files.saveFailed", { name }), error);
  }
}
