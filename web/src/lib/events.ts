import { authorizedFetch } from "./api-client";
import { backoffMs, pause } from "./backoff";
import type { Connection } from "./connection";
import { readSession } from "./session";
import { readEvents } from "./sse";

/** What the server tells an open page. `open` is ours: what was missed must be read anew. */
export type PageEvent =
  | { type: "open" }
  | { type: "connection"; connection: Connection }
  | { type: "connection-removed"; id: string }
  | RunEvent
  /** Without an id, any number of chats. Its marks are told where they may have changed. */
  | { type: "session"; sessionId?: string; pinned?: boolean; archived?: boolean }
  | { type: "branch"; sessionId: string }
  | { type: "queue"; sessionId: string }
  | { type: "devices" }
  | { type: "resource-changed"; connectionId: string; uri: string };

export interface RunEvent {
  type: "run";
  sessionId: string;
  runId: string;
  state: "started" | "waiting" | "ended";
}

/**
 * What the tabs of a user tell each other: an event of the one stream, that a tab wants to know which turns go on, or
 * all turns that do.
 */
type TabMessage = { event: PageEvent } | { asks: true } | { runs: readonly RunEvent[] };

type Listener = (event: PageEvent) => void;

const waits = { firstMs: 1_000, longestMs: 30_000 };
/** The server comments every 15 s; three silent rounds mean that the line is dead. */
const SILENCE_TIMEOUT_MS = 45_000;

const listeners = new Set<Listener>();
let reader: AbortController | undefined;
let channel: BroadcastChannel | undefined;
/** Whether this tab is the one that reads the stream for all. */
let reads = false;
/** The turns that go on, by chat. Each stream begins with them; tabs that are opened later are told of them. */
const runs = new Map<string, RunEvent>();

/**
 * Listens to the server's events for this user. However many listen, in however many tabs, there is one stream: the
 * browser has six connections to a server in all. One tab reads it and passes it on to the others; when it goes, the
 * next one takes over. Where tabs cannot agree on one, which needs a secure context, each visible tab reads its own.
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
  // A tab in the background may have been stopped by the browser, and have missed what the others passed on.
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
    runs.clear();
  }
}

/** Waits until this tab is the one that reads, and takes over what that one passes on until then. */
async function readInTurn(stop: AbortSignal): Promise<void> {
  const session = readSession();
  const name = `ai-chat-mcp.events.${"user" in session ? session.user.id : ""}`;
  const own = new BroadcastChannel(name);
  channel = own;
  reads = false;
  own.addEventListener("message", ({ data }: MessageEvent<TabMessage>) => {
    if ("event" in data) deliver(data.event);
    else if ("runs" in data) takeOver(data.runs);
    else if (reads) post(own, { runs: [...runs.values()] });
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

/** Reads one stream to its end; whether it had been opened. */
async function readOnce(stop: AbortSignal): Promise<boolean> {
  const silence = new AbortController();
  const signal = AbortSignal.any([stop, silence.signal]);
  let opened = false;
  let timer = setTimeout(() => silence.abort(), SILENCE_TIMEOUT_MS);
  try {
    const response = await authorizedFetch("/api/events", {
      headers: { accept: "text/event-stream" },
      signal,
    });
    if (!response.ok || response.body === null) return false;
    opened = true;
    emit({ type: "open" });
    const restart = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_TIMEOUT_MS);
    };
    for await (const { data } of readEvents(response.body, restart)) emit(JSON.parse(data) as PageEvent);
  } catch {
    // A stream that broke is the ordinary end of one: the caller opens the next.
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
  if (event.type === "open") runs.clear();
  if (event.type === "run") note(event);
  for (const listener of listeners) listener(event);
}

function note(event: RunEvent): void {
  if (event.state !== "ended") runs.set(event.sessionId, event);
  // With several nodes, the end of one turn may be heard of after the beginning of the next.
  else if (runs.get(event.sessionId)?.runId === event.runId) runs.delete(event.sessionId);
}

/** Brings what this tab knows up to date with the one that reads: the browser may have stopped this one for a while. */
function takeOver(known: readonly RunEvent[]): void {
  const going = new Set(known.map(({ runId }) => runId));
  for (const event of runs.values()) if (!going.has(event.runId)) deliver({ ...event, state: "ended" });
  for (const event of known) {
    const before = runs.get(event.sessionId);
    if (before?.runId !== event.runId || before.state !== event.state) deliver(event);
  }
}

/** What is known of the turn that goes on in a chat. */
export function runOf(chatId: string): RunEvent["state"] | undefined {
  return runs.get(chatId)?.state;
}
