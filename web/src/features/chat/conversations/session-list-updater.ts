import type { QueryClient } from "@tanstack/react-query";
import { type ChatSession, listSessionsById, sessionsQuery, sortLatestFirst } from "../queries";

/** User settings of a chat that may have changed; absent ones did not. */
export type ChatMarks = Partial<Pick<ChatSession, "pinned" | "archived">>;

const NO_MARKS = { pinned: false, archived: false };
/** Time to collect further changes before loading: the start of a turn is announced more than once. */
const BATCH_WINDOW_MS = 50;
/** Beyond this many changed chats, loading the whole list is as cheap. */
const MAX_CHATS_PER_REQUEST = 100;

/**
 * Keeps the list of chats up to date with server events. It loads only the chats that changed: a user's list may be
 * long, and each turn changes it twice.
 */
export class SessionListUpdater {
  readonly #queries: QueryClient;
  readonly #userId: string;
  #changed = new Map<string, ChatMarks>();
  #runs = false;

  constructor(queries: QueryClient, userId: string) {
    this.#queries = queries;
    this.#userId = userId;
  }

  /** Records that a chat was created, changed or deleted. */
  note(chatId: string, marks: ChatMarks = {}): void {
    this.#changed.set(chatId, { ...this.#changed.get(chatId), ...marks });
    if (!this.#runs) void this.#run();
  }

  async #run(): Promise<void> {
    this.#runs = true;
    while (this.#changed.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, BATCH_WINDOW_MS));
      await this.#untilLoaded();
      const changed = this.#changed;
      this.#changed = new Map();
      await this.#update(changed).catch(() => this.#queries.invalidateQueries({ queryKey: this.#key }));
    }
    this.#runs = false;
  }

  async #update(changed: Map<string, ChatMarks>): Promise<void> {
    const before = this.#list();
    if (changed.size > MAX_CHATS_PER_REQUEST || before === undefined)
      return this.#queries.invalidateQueries({ queryKey: this.#key });
    const found = byId(await listSessionsById(this.#userId, [...changed.keys()]));
    const [known, now] = [byId(before), byId(this.#list() ?? [])];
    for (const [id, marks] of changed) {
      // The list changed locally during the request, so the loaded row may be older.
      if (known.get(id) === now.get(id)) continue;
      changed.delete(id);
      found.delete(id);
      this.note(id, marks);
    }
    this.#queries.setQueryData<readonly ChatSession[]>(this.#key, (list = []) => {
      const kept = list.flatMap((chat) => {
        if (!changed.has(chat.id)) return [chat];
        const fresh = found.get(chat.id);
        found.delete(chat.id);
        return fresh ? [{ ...chat, ...fresh, ...changed.get(chat.id) }] : [];
      });
      const added = [...found.values()].map((chat) => ({ ...NO_MARKS, ...chat, ...changed.get(chat.id) }));
      return sortLatestFirst([...added, ...kept]);
    });
  }

  /** Waits for the whole list if it is loading: it may predate a change, and a change to it would load it again. */
  async #untilLoaded(): Promise<void> {
    const query = this.#queries.getQueryCache().find({ queryKey: this.#key });
    while (query?.state.fetchStatus === "fetching") await query.promise?.catch(() => undefined);
  }

  #list(): readonly ChatSession[] | undefined {
    return this.#queries.getQueryData(this.#key);
  }

  get #key() {
    return sessionsQuery(this.#userId).queryKey;
  }
}

function byId(chats: readonly ChatSession[]): Map<string, ChatSession> {
  return new Map(chats.map((chat) => [chat.id, chat]));
}
