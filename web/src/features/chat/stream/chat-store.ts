import {
  type ChatBackend,
  type ChatEvents,
  type ChatStatus,
  INITIAL_STATUS,
  PAGE_SIZE,
  type SendResult,
  type ToolChoice,
  type TurnRequest,
} from "./chat-contract";
import { EditingState, KeyedEmitter } from "./editing-state";
import { countPending, hasElicitation, isAwaitingUser, isStreamingText, pendingTool } from "./message";
import { type ChatMessage, userMessage } from "./message";
import type { StreamChunk } from "./protocol";
import { EMPTY_TURN, reduceChunk, type TurnState } from "./reduce-chunk";
import { followTurn, type TurnEnd } from "./turn-connection";
import { reuseUnchanged } from "./stored-message";
import { optimisticTail, truncateAt, visibleHistory } from "./visible-messages";

/**
 * State of one chat: the loaded history, the message being sent, and the streaming answer. Rows subscribe by message
 * id, so that a delta renders one row; chunks are collected and published at most once per frame.
 */
export class ChatStore {
  readonly #backend: ChatBackend;
  readonly #events: ChatEvents;
  readonly #emitter = new KeyedEmitter();
  #status = INITIAL_STATUS;
  #history: readonly ChatMessage[] = [];
  /** Messages of this page that a failed reload has not brought yet. */
  #unsaved: readonly ChatMessage[] = [];
  #pending: ChatMessage | null = null;
  #turn: TurnState = EMPTY_TURN;
  #byId: ReadonlyMap<string, ChatMessage> = new Map();
  #chunks: StreamChunk[] = [];
  #cancelFrame: (() => void) | null = null;
  #following = new AbortController();
  #stopWanted = false;
  /** Id of the turn that was followed last. */
  #turnId: string | undefined;
  #isVisible = true;
  #followsOwn = false;
  /** Resolves when the server has answered whether the requested turn exists. */
  #attached: Promise<void> = Promise.resolve();
  /** True if the next events replay the turn from its start. Its known part stays visible until they arrive. */
  #replays = false;
  /** True if the chat was hidden while the answer to a message of this page was being written. */
  #leftOwnRun = false;

  constructor(backend: ChatBackend, events: ChatEvents) {
    this.#backend = backend;
    this.#events = events;
  }

  /** The message that is being edited; its row is notified of changes. */
  readonly editing = new EditingState(this.#emitter);

  readonly status = (): ChatStatus => this.#status;

  readonly message = (id: string): ChatMessage | undefined => this.#byId.get(id);

  readonly subscribe = (listener: () => void): (() => void) => this.#emitter.subscribe("", listener);

  readonly subscribeTo =
    (id: string) =>
    (listener: () => void): (() => void) =>
      this.#emitter.subscribe(id, listener);

  /** Returns true if a turn is the followed one, or was the last one. */
  isFollowed(turnId: string): boolean {
    return this.#turnId === turnId;
  }

  /** Returns true if the server has stored a message with this id. */
  isStored(id: string): boolean {
    return this.#history.some((message) => message.id === id);
  }

  /**
   * Sets whether the chat is visible; a hidden chat does not follow its turn. A browser opens at most six connections
   * to a server, and a turn that waits for its user would block one indefinitely. Callers open the chat again when it
   * becomes visible.
   */
  setVisible(isVisible: boolean): void {
    this.#isVisible = isVisible;
    // A message that is being sent has to arrive first; the connection is closed after its acceptance.
    if (!isVisible && this.#isAccepted()) this.#disconnect();
  }

  #isAccepted(): boolean {
    const { phase } = this.#status;
    return phase === "running" || (phase === "stopping" && !this.#stopWanted);
  }

  #disconnect(): void {
    this.#following.abort();
    this.#flush();
    this.#leftOwnRun ||= this.#followsOwn;
    this.#publish({ phase: "idle", reconnecting: false });
  }

  /** Loads the result of a turn that was not followed, and reports a failed answer to a message of this page. */
  async catchUp(): Promise<void> {
    if (this.#isVisible || this.#status.phase !== "idle" || !this.#status.loaded) return;
    await this.#reloadAfterLeaving();
    const last = this.#history.at(-1);
    if (this.#leftOwnRun && last?.status === "failed") this.#events.onFailed(last.error ?? "");
    this.#leftOwnRun = false;
  }

  async #reloadAfterLeaving(): Promise<void> {
    if (!(await this.reload())) return;
    if (this.status().phase !== "idle") return;
    this.#pending = null;
    // An unfinished answer stays visible until its turn is followed again.
    if (this.#isStoredAnswer()) this.#turn = EMPTY_TURN;
    this.#publish({});
  }

  #isStoredAnswer(): boolean {
    const { message } = this.#turn;
    return message !== null && this.isStored(message.id);
  }

  /** Loads the newest messages, or those since the last load, and follows a running turn. */
  async open(): Promise<void> {
    if (!this.#status.loaded) {
      const page = await this.#backend.loadPage(null, PAGE_SIZE);
      // A message sent in the meantime is in the page and visible already; its turn loads the messages when it ends.
      if (this.#status.phase === "idle") {
        this.#history = page;
        this.#pending = null;
      }
      this.#publish({ loaded: true, hasOlder: this.#history.length >= PAGE_SIZE });
    } else if (this.#status.phase === "idle") {
      await this.#reloadAfterLeaving();
    }
    if (this.#isVisible) void this.attach();
  }

  /** Loads `count` messages before the oldest loaded one. */
  async loadOlder(count = PAGE_SIZE): Promise<void> {
    const oldest = this.#history[0];
    if (!oldest || !this.#status.hasOlder) return;
    const page = await this.#backend.loadPage(oldest.createdAt, count);
    if (this.#history[0]?.id !== oldest.id) return;
    this.#history = [...page, ...this.#history];
    this.#publish({ hasOlder: page.length >= count });
  }

  /** Starts a turn; resolves when the server has accepted or refused it. */
  send(turn: TurnRequest, tools: readonly ToolChoice[]): Promise<SendResult> {
    if (this.#status.phase !== "idle") return Promise.resolve({ accepted: false, error: null });
    const now = this.#backend.now();
    this.#unsaved = this.#shown().slice(this.#history.length);
    if (turn.replaces !== undefined) {
      this.#history = truncateAt(this.#history, turn.replaces);
      this.#unsaved = [];
    }
    const { message, attachments } = turn;
    const at = new Date(now).toISOString();
    this.#pending = message === undefined ? null : userMessage(`sending-${now}`, message, at, attachments);
    this.#turn = EMPTY_TURN;
    this.#replays = false;
    this.#publish({ phase: "sending", sentCount: this.#status.sentCount + 1 });
    return new Promise((resolve) => {
      const first = (signal: AbortSignal) => this.#backend.send(turn, tools, signal);
      void this.#follow(first, () => resolve({ accepted: true }), true).then((end) => {
        if (end.kind === "refused" && turn.replaces !== undefined) void this.reopen();
        // Resolving again after the acceptance has no effect.
        resolve({ accepted: false, error: end.kind === "refused" ? end.error : null });
      });
    });
  }

  /** Follows the running turn of this chat, if any: after a reload, or when another tab started it. */
  async attach(): Promise<TurnEnd["kind"]> {
    if (this.#status.phase !== "idle") return "aborted";
    this.#replays = true;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#attached = promise;
    const first = (signal: AbortSignal) => this.#backend.resume("", signal);
    const end = await this.#follow(first, resolve, false);
    resolve();
    return end.kind;
  }

  /** Shows the message of a turn that another tab started, then follows the turn. */
  async followOtherTab(): Promise<void> {
    await this.#attached;
    // A hidden chat is opened when it becomes visible.
    if (this.#status.phase !== "idle" || !this.#isVisible) return;
    await this.reload();
    // A short turn may have ended in the meantime.
    if ((await this.attach()) === "idle") await this.reload();
  }

  /**
   * Stops the running turn and keeps its partial answer. Idempotent. A hidden chat follows no turn, so that only the
   * server knows whether one is running; the turn may end after the call.
   */
  async stop(): Promise<void> {
    if (this.#status.phase === "sending") {
      // Before the server has accepted the message there is no turn to stop.
      this.#stopWanted = true;
      this.#publish({ phase: "stopping" });
      return;
    }
    const isHidden = this.#status.phase === "idle" && !this.#isVisible;
    if (this.#status.phase !== "running" && !isHidden) return;
    if (!isHidden) this.#publish({ phase: "stopping" });
    try {
      await this.#backend.stop();
    } catch (error) {
      this.#events.onBackgroundError("stop", error);
      if (this.status().phase === "stopping") this.#publish({ phase: "running" });
    }
  }

  /** Loads the messages again, from the newest page on. */
  async reload(): Promise<boolean> {
    const anchor = this.#history.at(-PAGE_SIZE) ?? this.#history[0];
    try {
      const fresh = await this.#backend.loadSince(anchor?.createdAt ?? null);
      const cut = anchor ? this.#history.findIndex(({ id }) => id === anchor.id) : 0;
      this.#history = [...this.#history.slice(0, Math.max(cut, 0)), ...reuseUnchanged(this.#history, fresh)];
      this.#unsaved = [];
      this.#publish({});
      return true;
    } catch (error) {
      this.#events.onBackgroundError("messages", error);
      return false;
    }
  }

  /** Loads the newest messages again, because another branch may be active. */
  async reopen(): Promise<void> {
    if (this.#status.phase !== "idle") return;
    const page = await this.#backend.loadPage(null, PAGE_SIZE);
    if (this.status().phase !== "idle") return;
    this.#history = reuseUnchanged(this.#history, page);
    this.#unsaved = [];
    this.#turn = EMPTY_TURN;
    this.#publish({ hasOlder: page.length >= PAGE_SIZE });
  }

  /** Closes the connection; the turn continues on the server. */
  close(): void {
    this.#following.abort();
    this.#cancelFrame?.();
  }

  async #follow(
    first: (signal: AbortSignal) => Promise<Response>,
    accepted: () => void,
    own: boolean,
  ): Promise<TurnEnd> {
    this.#following.abort();
    this.#following = new AbortController();
    const { signal } = this.#following;
    this.#followsOwn = own;
    const listener = {
      onAccepted: () => {
        accepted();
        this.#publish({ phase: "running" });
        if (this.#stopWanted) void this.stop();
        this.#stopWanted = false;
        if (!this.#isVisible) this.#disconnect();
      },
      onChunk: (chunk: StreamChunk) => {
        if (!signal.aborted) this.#collect(chunk);
      },
      onReconnecting: (reconnecting: boolean) => this.#publish({ reconnecting }),
    };
    const end = await followTurn(first, this.#backend, listener, signal);
    if (end.kind !== "aborted") await this.#finish(end, own);
    return end;
  }

  async #finish(end: TurnEnd, own: boolean): Promise<void> {
    this.#flush();
    const accepted =
      this.#status.phase === "running" || (this.#status.phase === "stopping" && !this.#stopWanted);
    this.#stopWanted = false;
    if (this.#replays) this.#turn = EMPTY_TURN;
    this.#replays = false;
    if (!accepted) {
      this.#pending = null;
      this.#publish({ phase: "idle" });
      // Show the turn that caused the conflict.
      if (end.kind === "refused" && end.error?.status === 409) void this.followOtherTab();
      return;
    }
    const { message } = this.#turn;
    this.#turn = { ...this.#turn, modelStatus: null };
    this.#publish({ phase: "idle", reconnecting: false });
    if (own && message?.status === "failed") this.#events.onFailed(message.error ?? "");
    if (own && end.kind === "refused") this.#events.onFailed(end.error?.message ?? "");
    const reloaded = await this.reload();
    // If the next message was sent during the reload, the live state belongs to that one.
    if (this.#status.phase === "idle") this.#replaceLiveByStored(reloaded);
    this.#events.onEnded();
    // The next turn may have started while the connection was lost.
    if (end.kind === "idle" && this.#turn.message === null) void this.attach();
  }

  /** Replaces the live messages by the stored ones. Text that is not stored stays visible. */
  #replaceLiveByStored(reloaded: boolean): void {
    const { message } = this.#turn;
    if (reloaded) this.#pending = null;
    if (this.#history.some(({ id }) => id === message?.id)) this.#turn = EMPTY_TURN;
    else if (message?.status === "streaming")
      this.#turn = { ...this.#turn, message: { ...message, status: "interrupted" } };
    this.#publish({});
  }

  #collect(chunk: StreamChunk): void {
    if (chunk.type === "start") this.#turnId = chunk.messageMetadata?.turnId;
    this.#chunks.push(chunk);
    this.#cancelFrame ??= this.#backend.nextFrame(() => this.#flush());
  }

  #flush(): void {
    this.#cancelFrame?.();
    this.#cancelFrame = null;
    const chunks = this.#chunks;
    if (chunks.length === 0) return;
    this.#chunks = [];
    if (this.#replays) this.#turn = EMPTY_TURN;
    this.#replays = false;
    const { title } = this.#turn;
    const now = this.#backend.now();
    for (const chunk of chunks) this.#turn = reduceChunk(this.#turn, chunk, now);
    if (this.#turn.title !== null && this.#turn.title !== title) this.#events.onTitle(this.#turn.title);
    this.#publish({});
  }

  #shown(): readonly ChatMessage[] {
    return [
      ...visibleHistory(this.#history, this.#turn.message),
      ...this.#unsaved,
      ...optimisticTail(this.#history, this.#pending, this.#turn.message),
    ];
  }

  #publish(change: Partial<ChatStatus>): void {
    const shown = this.#shown();
    const drawn = this.#byId;
    this.#byId = new Map(shown.map((message) => [message.id, message]));
    const { ids, busySince } = this.#status;
    const isBusy = (change.phase ?? this.#status.phase) !== "idle";
    const sameIds = ids.length === shown.length && shown.every(({ id }, index) => id === ids[index]);
    const next: ChatStatus = {
      ...this.#status,
      busySince: isBusy ? (busySince ?? this.#backend.now()) : null,
      modelStatus: this.#turn.modelStatus,
      pendingCount: countPending(this.#turn.message, isAwaitingUser),
      pendingTool: pendingTool(this.#turn.message),
      hasPendingElicitation: countPending(this.#turn.message, hasElicitation) > 0,
      isStreamingText: isStreamingText(this.#turn.message),
      ids: sameIds ? ids : shown.map(({ id }) => id),
      ...change,
    };
    const statusChanged = (Object.keys(next) as (keyof ChatStatus)[]).some(
      (key) => next[key] !== this.#status[key],
    );
    if (statusChanged) this.#status = next;
    for (const message of shown) {
      if (drawn.get(message.id) !== message) this.#emitter.emit(message.id);
    }
    if (statusChanged) this.#emitter.emit("");
  }
}
