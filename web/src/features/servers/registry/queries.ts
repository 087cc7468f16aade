import { infiniteQueryOptions, keepPreviousData } from "@tanstack/react-query";
import { callApi } from "@/lib/api-client";

/** Value that a server asks its users for: a variable in its URL, or in a header. */
export interface RegistryInput {
  name: string;
  description?: string;
  isRequired: boolean;
  isSecret: boolean;
  default?: string;
  placeholder?: string;
  choices: readonly string[];
}

/** Header that a server expects with every request. */
export interface RegistryHeader extends RegistryInput {
  /** Fixed value, or a template with variables in braces; absent if the user enters the value. */
  value?: string;
  variables: readonly RegistryInput[];
}

/** Address at which a server can be reached. */
export interface RegistryRemote {
  transport: "streamable-http" | "sse";
  /** URL with the names of variables in braces. */
  url: string;
  /** True if the host belongs to the publisher's domain; absent if the publisher is no domain. */
  isPublisherDomain?: boolean;
  variables: readonly RegistryInput[];
  headers: readonly RegistryHeader[];
}

/** Server of the MCP registry. All of its texts come from strangers. */
export interface RegistryServer {
  /** Unique name in reverse DNS form, such as `io.github.acme/weather`. */
  name: string;
  title?: string;
  description: string;
  version: string;
  /** Owner of the name's namespace; null if the name does not tell. */
  publisher: { name: string; verifiedBy: "github" | "domain" } | null;
  isDeprecated: boolean;
  updatedAt?: string;
  websiteUrl?: string;
  repositoryUrl?: string;
  remotes: readonly RegistryRemote[];
}

interface RegistryPage {
  /** Host of the registry. */
  registry: string;
  servers: readonly RegistryServer[];
  nextCursor?: string;
}

/** Returns the query for the registry's servers that match a text; all of them for an empty one. */
export function registryServers(search: string) {
  return infiniteQueryOptions({
    queryKey: ["registry", search],
    queryFn: ({ pageParam, signal }) => {
      const params = new URLSearchParams({
        ...(search !== "" && { search }),
        ...(pageParam !== "" && { cursor: pageParam }),
      });
      return callApi<RegistryPage>(`/api/registry/servers?${params}`, { signal });
    },
    initialPageParam: "",
    getNextPageParam: ({ nextCursor }) => nextCursor,
    // The servers found before stay visible while the next ones load.
    placeholderData: keepPreviousData,
    staleTime: 5 * 60_000,
    // Our server has waited for the registry already; the user decides whether to wait again.
    retry: false,
  });
}
