import { queryOptions } from "@tanstack/react-query";
import { callApi, jsonBody } from "@/lib/api-client";

/** Known properties of a model; unknown ones are absent. */
export interface ModelFacts {
  /** Context window in tokens, input and output together. */
  readonly context?: number;
  readonly tools?: boolean;
  /** True if it accepts images. */
  readonly images?: boolean;
  /** True if it accepts PDF documents. */
  readonly pdf?: boolean;
  /** True if it also generates images. */
  readonly imageOutput?: boolean;
  readonly reasoning?: boolean;
  /** US dollars per million tokens. */
  readonly price?: { readonly input: number; readonly output: number };
}

/** Model that can answer in a chat. */
export interface Model {
  /** `provider/name`. */
  readonly id: string;
  readonly name: string;
  readonly provider: string;
  /** The user's name for a provider of their own. */
  readonly providerName?: string;
  readonly builtIn: boolean;
  readonly available: boolean;
  /** Reason why the model is unavailable, with what to do. */
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
  /** Ids of the user's favorite models. */
  readonly favourites: readonly string[];
}

export const modelsQuery = queryOptions({
  queryKey: ["models"],
  queryFn: () => callApi<ModelList>("/api/models"),
  // Keys and model files change rarely.
  staleTime: 60_000,
});

/** Returns the query for the model chosen in a chat; null if none was chosen. */
export function chatModelQuery(chatId: string) {
  return queryOptions({
    queryKey: ["chat-model", chatId],
    queryFn: async () => (await callApi<{ model: string | null }>(chatModelPath(chatId))).model,
    staleTime: 60_000,
  });
}

const chatModelPath = (chatId: string): string => `/api/sessions/${encodeURIComponent(chatId)}/model`;

/** Sets the model of a chat. */
export async function chooseModel(chatId: string, model: string): Promise<void> {
  await callApi(chatModelPath(chatId), { ...jsonBody({ model }), method: "PUT" });
}

/** Adds a model to the favorites, or removes it. */
export async function setFavorite(model: string, favourite: boolean): Promise<void> {
  await callApi("/api/models/favourites", { ...jsonBody({ model, favourite }), method: "PUT" });
}

/** Returns the model that answers: the chosen one, else the default, else the first available one. */
export function activeModel(list: ModelList, chosen: string | null = null): Model | undefined {
  return (
    (chosen === null ? undefined : (list.models.find(({ id }) => id === chosen) ?? missing(chosen))) ??
    list.models.find(({ id }) => id === list.default) ??
    list.models.find(({ available }) => available) ??
    list.models[0]
  );
}

/** Returns a placeholder for a chosen model that is not listed any more. */
function missing(id: string): Model {
  const [provider = id, ...name] = id.split("/");
  return { id, name: name.join("/"), provider, builtIn: false, available: false };
}
