import type { QueryClient } from "@tanstack/react-query";
import { t } from "@/lib/t";
import { forgetAfter } from "@/lib/user-data";
import { toast } from "@/ui/toast";
import { chatBackend } from "./api/backend";
import { type ChatMarks, SessionListUpdater } from "./api/session-list-updater";
import { type ChatSession, sessionsQuery } from "./api/sessions";
import { ChatStore } from "./stream/chat-store";

/** The chats of this page that were opened; a turn is followed on while another chat is shown. */
export class ChatRegistry {
  readonly #stores = new Map<string, ChatStore>();
  /** The last run that was heard of in a chat: the one that is followed, or the next. */
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

  /** The store of a chat, made when it is first asked for. */
  readonly get = (chatId: string): ChatStore => {
    const known = this.#stores.get(chatId);
    if (known) return known;
    const store = new ChatStore(chatBackend(chatId), {
      onTitle: (title) => this.rename(chatId, title),
      onFailed: (reason) =>
        toast({ title: t("error.title"), description: reason || t("chat.sendFailed"), tone: "err" }),
      onEnded: () => {
        this.#list.note(chatId);
        void this.#queries.invalidateQueries({ queryKey: ["branches", chatId] });
        this.#followLate(chatId);
      },
      onBackgroundError: (what, error) => console.error("Loading failed:", what, error),
    });
    this.#stores.set(chatId, store);
    return store;
  };

  /** Returns the store of a chat, to send a message in it. A chat that is not in sight does not follow its turn. */
  getForSending(chatId: string): ChatStore {
    const isNew = !this.#stores.has(chatId);
    const store = this.get(chatId);
    if (isNew) store.setVisible(false);
    return store;
  }

  /** Whether a chat that was opened is known to have no messages. */
  isEmpty(chatId: string): boolean {
    const status = this.#stores.get(chatId)?.status();
    return status !== undefined && status.loaded && status.phase === "idle" && status.ids.length === 0;
  }

  /** A chat that is deleted is no longer followed. */
  forget(chatId: string): void {
    this.#stores.get(chatId)?.close();
    this.#stores.delete(chatId);
  }

  /** Shows a title before the server's list is read again. */
  rename(chatId: string, title: string): void {
    this.#queries.setQueryData<readonly ChatSession[]>(this.#key, (list) =>
      list?.map((session) => (session.id === chatId ? { ...session, title } : session)),
    );
  }

  /** A turn began in a chat: if it was not here, it is followed if the chat is open here. */
  onRunStarted(chatId: string, runId: string): void {
    const store = this.#stores.get(chatId);
    if (store === undefined || store.isFollowed(runId)) return;
    // What waited begins as soon as an answer is stored, and the page may not have seen the answer's end yet.
    this.#late.set(chatId, runId);
    const { loaded, phase } = store.status();
    // A chat that is being opened looks for its turn by itself.
    if (loaded && phase === "idle") void store.followOtherTab();
  }

  /** A turn has ended in a chat that may be open here without being followed. */
  onRunEnded(chatId: string, runId: string): void {
    if (this.#late.get(chatId) === runId) this.#late.delete(chatId);
    void this.#stores.get(chatId)?.catchUp();
  }

  #followLate(chatId: string): void {
    const runId = this.#late.get(chatId);
    this.#late.delete(chatId);
    const store = this.#stores.get(chatId);
    if (runId !== undefined && store?.isFollowed(runId) === false) void store.followOtherTab();
  }

  /** A chat was made, changed or deleted; without an id, any number of them. */
  onSession(chatId: string | undefined, marks: ChatMarks): void {
    if (chatId === undefined) void this.#queries.invalidateQueries({ queryKey: this.#key });
    else this.#list.note(chatId, marks);
    // Another tab may have chosen another model.
    void this.#queries.invalidateQueries({ queryKey: ["chat-model"] });
  }

  /** Another branch of a chat is the present one. */
  onBranch(chatId: string): void {
    const trouble = (cause: unknown) => console.error("Loading failed:", "messages", cause);
    this.#stores.get(chatId)?.reopen().catch(trouble);
    void this.#queries.invalidateQueries({ queryKey: ["branches", chatId] });
  }

  get #key() {
    return sessionsQuery(this.#userId).queryKey;
  }
}
