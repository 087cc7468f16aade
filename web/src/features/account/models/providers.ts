import { queryOptions } from "@tanstack/react-query";
import { callApi, jsonBody } from "@/lib/api-client";

export const kinds = ["openai", "anthropic", "gemini", "ollama", "compatible"] as const;

/** What a provider speaks. */
export type Kind = (typeof kinds)[number];

/** Where each kind is when no address is entered. */
export const usualAddress: Readonly<Record<Kind, string | undefined>> = {
  openai: "https://api.openai.com/v1",
  anthropic: "https://api.anthropic.com",
  gemini: "https://generativelanguage.googleapis.com",
  ollama: "http://127.0.0.1:11434",
  compatible: undefined,
};

/** A place that serves models to this person alone. Its key is never told. */
export interface ModelProvider {
  id: string;
  /** Stands in front of the names of its models. */
  prefix: string;
  name: string;
  kind: Kind;
  baseUrl: string;
  hasKey: boolean;
  /** The last letters of the key. */
  hint: string | null;
  createdAt: string;
}

/** What a person enters of a provider. */
export interface ProviderFields {
  name: string;
  baseUrl: string;
  key?: string;
}

/** What a provider said when it was asked for its models. */
export type Tested = { ok: true; models: number } | { ok: false; reason: string };

/** The list of models in the composer, which changes with the providers. */
export const modelsKey = ["models"] as const;

/** The person's providers, oldest first. */
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

/** Asks a provider for its models, now. */
export function testProvider(id: string): Promise<Tested> {
  return callApi<Tested>(`${pathOf(id)}/test`, { method: "POST" });
}
