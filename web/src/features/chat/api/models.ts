import { queryOptions } from "@tanstack/react-query";
import { callApi, jsonBody } from "@/lib/api-client";

/** What is known of a model; what is not known is left out. */
export interface ModelFacts {
  /** Tokens that it reads and writes at most. */
  readonly context?: number;
  readonly tools?: boolean;
  /** It reads pictures. */
  readonly images?: boolean;
  /** It reads PDF documents. */
  readonly pdf?: boolean;
  /** It answers with pictures too. */
  readonly imageOutput?: boolean;
  readonly reasoning?: boolean;
  /** US dollars for a million tokens. */
  readonly price?: { readonly input: number; readonly output: number };
}

/** A model that the assistant can be. */
export interface Model {
  /** `provider/name`. */
  readonly id: string;
  readonly name: string;
  readonly provider: string;
  /** What the person calls a provider of their own. */
  readonly providerName?: string;
  readonly builtIn: boolean;
  readonly available: boolean;
  /** Why it is not available, and what to do. */
  readonly reason?: string | null;
  readonly facts?: ModelFacts;
  readonly about?: {
    readonly license: string;
    readonly origin: string;
    readonly sizeBytes: number;
    readonly note: string;
  } | null;
}

interface ModelList {
  readonly default: string | null;
  readonly models: readonly Model[];
  /** The ids of those that the person wants at hand. */
  readonly favourites: readonly string[];
}

export const modelsQuery = queryOptions({
  queryKey: ["models"],
  queryFn: () => callApi<ModelList>("/api/models"),
  // Whether weights and keys are there changes by hand, and rarely.
  staleTime: 60_000,
});

/** The model that the person chose for a chat; null where they chose none. */
export function chatModelQuery(chatId: string) {
  return queryOptions({
    queryKey: ["chat-model", chatId],
    queryFn: async () => (await callApi<{ model: string | null }>(chatModelPath(chatId))).model,
    staleTime: 60_000,
  });
}

const chatModelPath = (chatId: string): string => `/api/sessions/${encodeURIComponent(chatId)}/model`;

/** Chooses the model of a chat. */
export async function chooseModel(chatId: string, model: string): Promise<void> {
  await callApi(chatModelPath(chatId), { ...jsonBody({ model }), method: "PUT" });
}

/** Puts a model among those at hand, or takes it away. */
export async function markFavourite(model: string, favourite: boolean): Promise<void> {
  await callApi("/api/models/favourites", { ...jsonBody({ model, favourite }), method: "PUT" });
}

/** The model that answers: the one that was chosen, the default one, or the first that is available. */
export function activeModel(list: ModelList, chosen: string | null = null): Model | undefined {
  return (
    (chosen === null ? undefined : (list.models.find(({ id }) => id === chosen) ?? missing(chosen))) ??
    list.models.find(({ id }) => id === list.default) ??
    list.models.find(({ available }) => available) ??
    list.models[0]
  );
}

/** A model that was chosen and is not listed any more. */
function missing(id: string): Model {
  const [provider = id, ...name] = id.split("/");
  return { id, name: name.join("/"), provider, builtIn: false, available: false };
}
