declare const dataOf: unique symbol;

/** Names something the server knows; whatever begins with the same parts belongs together. */
export type QueryKey<Data = unknown> = readonly string[] & { readonly [dataOf]?: Data };

/** What is known about a query at a moment. */
export interface QueryState<Data> {
  data: Data | undefined;
  /** Why the last attempt failed; what was loaded before stays. */
  error: unknown;
  /** Nothing is known yet, neither data nor an error. */
  isPending: boolean;
}

/** How to load what a key names. */
export interface QueryOptions<Data> {
  queryKey: QueryKey<Data>;
  queryFn: () => Promise<Data>;
  /** For how many milliseconds an answer counts as fresh. */
  staleTime?: number;
}

interface Entry {
  key: QueryKey;
  state: QueryState<unknown>;
  /** When the data came, in milliseconds of the page's clock; `-Infinity` when it must be loaded anew. */
  updatedAt: number;
  running: Promise<void> | undefined;
  /** Whether what is under way was asked before a change, so that its answer no longer counts. */
  outdated: boolean;
  observers: Map<() => void, QueryOptions<unknown>>;
}

interface Settings {
  /** Whether an attempt that failed is worth repeating; asked with how many have failed. */
  retry: (failures: number, error: unknown) => boolean;
  /** Told when a load has failed for good. */
  onError: (key: QueryKey, error: unknown) => void;
}

const defaultStaleTimeMs = 15_000;
const firstRetryMs = 1_000;

/**
 * The page's memory of what the server said: one entry a key, loaded once however many look at it, shown at once and
 * loaded again when it has grown stale.
 */
export class QueryClient {
  readonly #entries = new Map<string, Entry>();
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** What is known now. The object stays the same until something changes. */
  getState<Data>(key: QueryKey<Data>): QueryState<Data> {
    return this.#entry(key).state as QueryState<Data>;
  }

  getQueryData<Data>(key: QueryKey<Data>): Data | undefined {
    return this.getState(key).data;
  }

  /** Changes what is known without asking the server. An updater that gives undefined changes nothing. */
  setQueryData<Data>(key: QueryKey<Data>, update: (before: Data | undefined) => Data | undefined): void {
    const entry = this.#entry(key);
    const data = update(entry.state.data as Data | undefined);
    if (data === undefined) return;
    entry.outdated = entry.running !== undefined;
    this.#settle(entry, { data, error: undefined, isPending: false });
  }

  /** Makes everything under `queryKey` stale, and loads at once what somebody looks at. */
  async invalidateQueries({ queryKey }: { queryKey: readonly string[] }): Promise<void> {
    const concerned = [...this.#entries.values()].filter(({ key }) =>
      queryKey.every((part, at) => key[at] === part),
    );
    await Promise.all(
      concerned.map((entry) => {
        entry.updatedAt = Number.NEGATIVE_INFINITY;
        entry.outdated = entry.running !== undefined;
        return this.#refresh(entry);
      }),
    );
  }

  /** Tells `listener` of every change, and loads what is stale, now and whenever the page comes back. */
  observe<Data>(options: QueryOptions<Data>, listener: () => void): () => void {
    const entry = this.#entry(options.queryKey);
    entry.observers.set(listener, options);
    void this.#refresh(entry);
    return () => entry.observers.delete(listener);
  }

  /** Loads again whatever is looked at and has grown stale; for when the page comes back into sight. */
  refreshStale(): void {
    for (const entry of this.#entries.values()) void this.#refresh(entry);
  }

  #entry(key: QueryKey): Entry {
    const hash = JSON.stringify(key);
    const known = this.#entries.get(hash);
    if (known !== undefined) return known;
    const state: QueryState<unknown> = { data: undefined, error: undefined, isPending: true };
    const updatedAt = Number.NEGATIVE_INFINITY;
    const entry: Entry = { key, state, updatedAt, running: undefined, outdated: false, observers: new Map() };
    this.#entries.set(hash, entry);
    return entry;
  }

  #refresh(entry: Entry): Promise<void> {
    const [options] = entry.observers.values();
    if (options === undefined) return Promise.resolve();
    if (entry.running !== undefined) return entry.running;
    if (performance.now() - entry.updatedAt < (options.staleTime ?? defaultStaleTimeMs))
      return Promise.resolve();
    entry.running = this.#load(entry, options).then((state) => {
      entry.running = undefined;
      this.#settle(entry, state);
    });
    return entry.running;
  }

  /** One load after the other: a load may write too, and two at once would write twice. */
  async #load(entry: Entry, options: QueryOptions<unknown>): Promise<QueryState<unknown>> {
    for (let failures = 0; ;) {
      entry.outdated = false;
      try {
        const data = await options.queryFn();
        if (!entry.outdated) return { data, error: undefined, isPending: false };
      } catch (error) {
        if (!this.#settings.retry(failures, error)) {
          this.#settings.onError(entry.key, error);
          return { data: entry.state.data, error, isPending: false };
        }
        await new Promise((resolve) => setTimeout(resolve, firstRetryMs * 2 ** failures));
        failures++;
      }
    }
  }

  #settle(entry: Entry, state: QueryState<unknown>): void {
    entry.state = state;
    entry.updatedAt = performance.now();
    for (const listener of entry.observers.keys()) listener();
  }
}
