import type { QueryClient } from "@tanstack/react-query";
import { t } from "@/lib/t";
import { forgetAfter } from "@/lib/user-data";
import { toast } from "@/ui/toast";
import { chatBackend } from "./chat-backend";
import { type ChatMarks, SessionListUpdater } from "./conversations/session-list-updater";
import { branchesQuery, chatModelsKey, type ChatSession, sessionsQuery } from "./queries";
import { ChatStore } from "./stream/chat-store";

/** Stores of the chats that were opened on this page. A turn is followed even while another chat is shown. */
export class ChatRegistry {
  readonly #stores = new Map<string, ChatStore>();
  /** Id of the last announced turn of each chat: the followed one, or the next. */
  readonly #late = new Map<string, string>();
  readonly #queries: QueryClient;
  readonly #userId: string;
  readonly #list: SessionListUpdater;

  constructor(queries: QueryClient, userId: string) {
    this.#queries = queries;
    this.#userId = userId;
    this.#list = new SessionListUpdater(queries, userId);
    const unregister = forgetAfter("session", () => {
      for (const store of this.#stores.values()) store.close();
      unregister();
    });
  }

  /** Returns the store of a chat, creating it on first use. */
  readonly get = (chatId: string): ChatStore => {
    const known = this.#stores.get(chatId);
    if (known) return known;
    const store = new ChatStore(chatBackend(chatId), {
      onTitle: (title) => this.rename(chatId, title),
      onFailed: (reason) =>
        toast({ title: t("error.title"), description: reason || t("chat.sendFailed"), tone: "err" }),
      onEnded: () => {
        this.#list.note(chatId);
        void this.#queries.invalidateQueries({ queryKey: branchesQuery(chatId).queryKey });
        this.#followLate(chatId);
      },
      onBackgroundError: (what, error) => console.error("Loading failed:", what, error),
    });
    this.#stores.set(chatId, store);
    return store;
  };

  /** Returns the store of a chat to send a message in it. A hidden chat does not follow its turn. */
  getForSending(chatId: string): ChatStore {
    const isNew = !this.#stores.has(chatId);
    const store = this.get(chatId);
    if (isNew) store.setVisible(false);
    return store;
  }

  /** Returns true if a chat was opened and has no messages. */
  isEmpty(chatId: string): boolean {
    const status = this.#stores.get(chatId)?.status();
    return status !== undefined && status.loaded && status.phase === "idle" && status.ids.length === 0;
  }

  /** Stops following a deleted chat. */
  forget(chatId: string): void {
    this.#stores.get(chatId)?.close();
    this.#stores.delete(chatId);
  }

  /** Shows a title before the server's list is loaded again. */
  rename(chatId: string, title: string): void {
    this.#queries.setQueryData<readonly ChatSession[]>(this.#key, (list) =>
      list?.map((session) => (session.id === chatId ? { ...session, title } : session)),
    );
  }

  /** Follows a turn that started elsewhere, if its chat is open on this page. */
  onTurnStarted(chatId: string, turnId: string): void {
    const store = this.#stores.get(chatId);
    if (store === undefined || store.isFollowed(turnId)) return;
    // A queued message starts as soon as the answer is stored; the page may not have processed the end of that answer
    // yet.
    this.#late.set(chatId, turnId);
    const { loaded, phase } = store.status();
    // A chat that is still opening finds its turn itself.
    if (loaded && phase === "idle") void store.followOtherTab();
  }

  /** Loads the result of a turn that ended without being followed here. */
  onTurnEnded(chatId: string, turnId: string): void {
    if (this.#late.get(chatId) === turnId) this.#late.delete(chatId);
    void this.#stores.get(chatId)?.catchUp();
  }

  #followLate(chatId: string): void {
    const turnId = this.#late.get(chatId);
    this.#late.delete(chatId);
    const store = this.#stores.get(chatId);
    if (turnId !== undefined && store?.isFollowed(turnId) === false) void store.followOtherTab();
  }

  /** Updates the list after a chat was created, changed or deleted; without an id, after any number of them. */
  onSession(chatId: string | undefined, marks: ChatMarks): void {
    if (chatId === undefined) void this.#queries.invalidateQueries({ queryKey: this.#key });
    else this.#list.note(chatId, marks);
    // Another tab may have chosen another model.
    void this.#queries.invalidateQueries({ queryKey: chatModelsKey });
  }

  /** Shows the branch that became the active one of a chat. */
  onBranch(chatId: string): void {
    const trouble = (cause: unknown) => console.error("Loading failed:", "messages", cause);
    this.#stores.get(chatId)?.reopen().catch(trouble);
    void this.#queries.invalidateQueries({ queryKey: branchesQuery(chatId).queryKey });
  }

  get #key() {
    return sessionsQuery(this.#userId).queryKey;
  }
}
