import { authorizedFetch } from "./api-client";
import { backoffMs, pause } from "./backoff";
import type { Connection } from "./connection";
import { readSession } from "./session";
import { readEvents } from "./sse";

/** Server event. `open` is the page's own: missed events require a reload of the data. */
export type PageEvent =
  | { type: "open" }
  | { type: "connection"; connection: Connection }
  | { type: "connection-removed"; id: string }
  | TurnEvent
  /** Without an id, any number of chats has changed. The user's settings are included if they may have changed. */
  | { type: "session"; sessionId?: string; pinned?: boolean; archived?: boolean }
  | { type: "branch"; sessionId: string }
  | { type: "queue"; sessionId: string }
  | { type: "devices" }
  | { type: "resource-changed"; connectionId: string; uri: string };

export interface TurnEvent {
  type: "turn";
  sessionId: string;
  turnId: string;
  state: "started" | "waiting" | "ended";
  /** What a waiting turn waits for; of several requests the oldest. */
  waitingFor?: AwaitedInteraction;
  /** How a turn ended. Unknown if this tab missed the end. */
  outcome?: "done" | "length" | "stopped" | "failed" | "interrupted";
}

/** Request of a tool call to the user. */
export interface AwaitedInteraction {
  kind: "approval" | "elicitation" | "sign-in";
  tool: string;
}

/**
 * Message between the tabs of a user: an event of the shared stream, a request for the running turns, or their list.
 */
type TabMessage = { event: PageEvent } | { asks: true } | { turns: readonly TurnEvent[] };

type Listener = (event: PageEvent) => void;

const waits = { firstMs: 1_000, longestMs: 30_000 };
/** The server sends a comment every 15 s; after three missed ones the connection is dead. */
const SILENCE_TIMEOUT_MS = 45_000;
/** Time in which a new stream has reported all running turns, which are the first that it sends. */
const REPORT_MS = 3_000;

const listeners = new Set<Listener>();
let reader: AbortController | undefined;
let channel: BroadcastChannel | undefined;
/** True if this tab reads the stream for all tabs. */
let reads = false;
/** Running turns by chat id. Every stream begins with them, and later tabs request them. */
const turns = new Map<string, TurnEvent>();

/**
 * Subscribes to the user's server events. All subscribers in all tabs share one stream, because a browser opens at most
 * six connections to a server. One tab reads it and forwards the events; when it closes, the next one takes over.
 * Without a lock between tabs, which needs a secure context, each visible tab reads a stream of its own.
 */
export function subscribeEvents(listener: Listener): () => void {
  listeners.add(listener);
  if (listeners.size === 1) document.addEventListener("visibilitychange", onVisibility);
  follow();
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) document.removeEventListener("visibilitychange", onVisibility);
    follow();
  };
}

function onVisibility(): void {
  // The browser may have suspended a background tab, which then missed forwarded events.
  if (reader !== undefined && document.visibilityState === "visible") {
    for (const listener of listeners) listener({ type: "open" });
    if (channel && !reads) post(channel, { asks: true });
  }
  follow();
}

function follow(): void {
  const isShared = "locks" in navigator;
  const wanted = listeners.size > 0 && (isShared || document.visibilityState === "visible");
  if (wanted && reader === undefined) {
    reader = new AbortController();
    void (isShared ? readInTurn(reader.signal) : run(reader.signal));
  } else if (!wanted) {
    reader?.abort();
    reader = undefined;
    turns.clear();
  }
}

/** Waits until this tab is the reading one; until then it receives forwarded events. */
async function readInTurn(stop: AbortSignal): Promise<void> {
  const session = readSession();
  const name = `ai-chat-mcp.events.${"user" in session ? session.user.id : ""}`;
  const own = new BroadcastChannel(name);
  channel = own;
  reads = false;
  own.addEventListener("message", ({ data }: MessageEvent<TabMessage>) => {
    if ("event" in data) deliver(data.event);
    else if ("turns" in data) takeOver(data.turns);
    else if (reads) post(own, { turns: [...turns.values()] });
  });
  post(own, { asks: true });
  try {
    await navigator.locks.request(name, { signal: stop }, () => {
      reads = true;
      return run(stop);
    });
  } catch (cause) {
    if (!stop.aborted) throw cause;
  } finally {
    own.close();
    if (channel === own) channel = undefined;
  }
}

function post(to: BroadcastChannel, message: TabMessage): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A channel has no target origin.
  to.postMessage(message);
}

async function run(stop: AbortSignal): Promise<void> {
  let failures = 0;
  while (!stop.aborted) {
    failures = (await readOnce(stop)) ? 0 : failures + 1;
    await pause(backoffMs(waits, failures, Math.random()), stop);
  }
}

/** Reads one stream to its end; resolves to true if it had been opened. */
async function readOnce(stop: AbortSignal): Promise<boolean> {
  const silence = new AbortController();
  const signal = AbortSignal.any([stop, silence.signal]);
  let opened = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const restart = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), SILENCE_TIMEOUT_MS);
  };
  restart();
  try {
    const response = await authorizedFetch("/api/events", {
      headers: { accept: "text/event-stream" },
      signal,
    });
    if (!response.ok || response.body === null) return false;
    opened = true;
    emit({ type: "open" });
    for await (const { data } of readEvents(response.body, restart)) emit(JSON.parse(data) as PageEvent);
  } catch {
    // Streams usually end by breaking; the caller opens the next one.
  } finally {
    clearTimeout(timer);
  }
  return opened;
}

function emit(event: PageEvent): void {
  if (channel) post(channel, { event });
  deliver(event);
}

function deliver(event: PageEvent): void {
  // Those that have ended since are not reported. Until then nothing flickers, and nothing is announced again.
  if (event.type === "open") setTimeout(endAll, REPORT_MS, [...turns.values()]);
  if (event.type === "turn") recordTurn(event);
  for (const listener of listeners) listener(event);
}

function recordTurn(event: TurnEvent): void {
  if (event.state !== "ended") turns.set(event.sessionId, event);
  // With several nodes, the end of a turn may arrive after the start of the next.
  else if (turns.get(event.sessionId)?.turnId === event.turnId) turns.delete(event.sessionId);
}

/** Replaces this tab's running turns by those of the reading tab, because this tab may have been suspended. */
function takeOver(known: readonly TurnEvent[]): void {
  endAll([...turns.values()].filter(({ turnId }) => known.every((turn) => turn.turnId !== turnId)));
  for (const event of known) {
    const before = turns.get(event.sessionId);
    if (before?.turnId !== event.turnId || before.state !== event.state) deliver(event);
  }
}

/** Ends those of some turns about which nothing was heard since. */
function endAll(gone: readonly TurnEvent[]): void {
  for (const turn of gone) {
    const { type, sessionId, turnId } = turn;
    if (turns.get(sessionId) === turn) deliver({ type, sessionId, turnId, state: "ended" });
  }
}

/** Returns the ids of the chats whose turns wait for the user, the newest last, separated by spaces. */
export function waitingChats(): string {
  return [...turns.values()]
    .flatMap(({ state, sessionId }) => (state === "waiting" ? [sessionId] : []))
    .join(" ");
}

/** Returns what the running turn of a chat waits for. */
export function awaitedIn(chatId: string): AwaitedInteraction | undefined {
  return turns.get(chatId)?.waitingFor;
}

/** Returns the state of the running turn of a chat. */
export function turnStateOf(chatId: string): TurnEvent["state"] | undefined {
  return turns.get(chatId)?.state;
}
