import { queryOptions, useQuery } from "@tanstack/react-query";
import { authorizedFetch } from "@/lib/api-client";
import { ApiError, errorOf } from "@/lib/api-error";
import { t as common } from "@/lib/t";
import { forgetAfter } from "@/lib/user-data";

/** The bytes of a file. They need the session's token, so that no element can load them by itself.
 * @throws {ApiError} when the server refuses or cannot be reached */
export async function loadFile(url: string): Promise<Blob> {
  const response = await authorizedFetch(url).catch(() => {
    throw new ApiError(common("error.unreachable"), 0);
  });
  if (!response.ok) throw await errorOf(response);
  return response.blob();
}

/** The same, kept. */
export function fileQuery(url: string) {
  return queryOptions({
    queryKey: ["file", url],
    queryFn: () => loadFile(url),
    // What a file holds never changes.
    staleTime: Number.POSITIVE_INFINITY,
    // Loading it once more would keep its bytes twice, because the first have an address in the page.
    gcTime: Number.POSITIVE_INFINITY,
  });
}

/** Addresses of bytes in this page, which keep the bytes until the session ends. */
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

/** A file's bytes and where they are in this page, as soon as they are there. */
export function useFile(url: string): {
  src: string | undefined;
  blob: Blob | undefined;
  error: Error | null;
} {
  const { data: blob, error } = useQuery(fileQuery(url));
  return { src: blob && addressOf(blob), blob, error };
}
