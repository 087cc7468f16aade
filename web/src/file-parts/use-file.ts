import { authorizedFetch } from "@/lib/api-client";
import { ApiError, errorOf } from "@/lib/api-error";
import { queryOptions, useQuery } from "@/lib/query/use-query";
import { t as common } from "@/lib/t";

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
  });
}

/** The addresses of bytes in this page. They live as long as the memory of queries, which holds the bytes. */
const addresses = new WeakMap<Blob, string>();

function addressOf(blob: Blob): string {
  const address = addresses.get(blob) ?? URL.createObjectURL(blob);
  addresses.set(blob, address);
  return address;
}

/** A file's bytes and where they are in this page, as soon as they are there. */
export function useFile(url: string): { src: string | undefined; blob: Blob | undefined; error: unknown } {
  const { data: blob, error } = useQuery(fileQuery(url));
  return { src: blob && addressOf(blob), blob, error };
}
