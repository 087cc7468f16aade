import { queryOptions } from "@tanstack/react-query";
import { callApi, jsonBody } from "@/lib/api-client";

export const kinds = ["openai", "anthropic", "gemini", "ollama", "compatible"] as const;

/** API of a provider. */
export type Kind = (typeof kinds)[number];

/** Default base URL of each API. */
export const usualAddress: Readonly<Record<Kind, string | undefined>> = {
  openai: "https://api.openai.com/v1",
  anthropic: "https://api.anthropic.com",
  gemini: "https://generativelanguage.googleapis.com",
  ollama: "http://127.0.0.1:11434",
  compatible: undefined,
};

/** Model provider of one user. The server never returns its key. */
export interface ModelProvider {
  id: string;
  /** Prefix of its models' names. */
  prefix: string;
  name: string;
  kind: Kind;
  baseUrl: string;
  hasKey: boolean;
  /** Last characters of the key. */
  hint: string | null;
  createdAt: string;
}

/** Editable fields of a provider. */
export interface ProviderFields {
  name: string;
  baseUrl: string;
  key?: string;
}

/** Result of listing a provider's models. */
export type Tested = { ok: true; models: number } | { ok: false; reason: string };

/** Query key of the composer's list of models, which changes with the providers. */
export const modelsKey = ["models"] as const;

/** Returns the query for the user's providers, oldest first. */
export function providersQuery(userId: string) {
  return queryOptions({
    queryKey: ["model-providers", userId],
    queryFn: async () => (await callApi<{ providers: ModelProvider[] }>("/api/model-providers")).providers,
    staleTime: 0,
  });
}

const pathOf = (id: string): string => `/api/model-providers/${encodeURIComponent(id)}`;

export async function addProvider(kind: Kind, fields: ProviderFields): Promise<ModelProvider> {
  const body = jsonBody({ kind, ...fields });
  return (await callApi<{ provider: ModelProvider }>("/api/model-providers", body)).provider;
}

export async function changeProvider(id: string, fields: ProviderFields): Promise<void> {
  await callApi(pathOf(id), { ...jsonBody(fields), method: "PATCH" });
}

export async function removeProvider(id: string): Promise<void> {
  await callApi(pathOf(id), { method: "DELETE" });
}

/** Tests a provider by listing its models. */
export function testProvider(id: string): Promise<Tested> {
  return callApi<Tested>(`${pathOf(id)}/test`, { method: "POST" });
}
