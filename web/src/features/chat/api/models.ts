import { queryOptions } from "@/lib/query/use-query";
import { callApi } from "@/lib/api-client";

/** A model that the assistant can be. */
export interface Model {
  /** `provider/name`. */
  readonly id: string;
  readonly name: string;
  readonly provider: string;
  readonly builtIn: boolean;
  readonly available: boolean;
  /** Why it is not available, and what to do. */
  readonly reason?: string | null;
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
}

export const modelsQuery = queryOptions({
  queryKey: ["models"],
  queryFn: () => callApi<ModelList>("/api/models"),
  // Whether weights and keys are there changes by hand, and rarely.
  staleTime: 60_000,
});

/** The model that answers: the default one, or the first that is available. */
export function activeModel(list: ModelList): Model | undefined {
  return (
    list.models.find(({ id }) => id === list.default) ??
    list.models.find(({ available }) => available) ??
    list.models[0]
  );
}
