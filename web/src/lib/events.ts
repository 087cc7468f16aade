import { authorizedFetch } from "./api-client";
import { backoffMs, pause } from "./backoff";
import type { Connection } from "./connection";
import { readEvents } from "./sse";

/** What the server tells an open page. `open` is ours: the stream is there again, and what was missed must be read anew. */
export type PageEvent =
  | { type: "open" }
  | { type: "connection"; connection: Connection }
  | { type: "connection-removed"; id: string }
  | { type: "run"; sessionId: string; runId: string; state: "started" | "ended" }
  | { type: "session"; sessionId: string }
  | { type: "branch"; sessionId: string }
  | { type: "queue"; sessionId: string }
  | { type: "devices" }
  | { type: "resource-changed"; connectionId: string; uri: string };

type Listener = (event: PageEvent) => void;

const waits = { firstMs: 1_000, longestMs: 30_000 };
/** The server comments every 15 s; three silent rounds mean that the line is dead. */
const silenceMs = 45_000;

const listeners = new Set<Listener>();
let reader: AbortController | undefined;

/**
 * Listens to the server's events for this page. However many listen, there is one stream; it is closed while the
 * tab is hidden and opened again, with growing pauses, when it breaks.
 */
export function subscribeEvents(listener: Listener): () => void {
  listeners.add(listener);
  if (listeners.size === 1) document.addEventListener("visibilitychange", follow);
  follow();
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) document.removeEventListener("visibilitychange", follow);
    follow();
  };
}

function follow(): void {
  const wanted = listeners.size > 0 && document.visibilityState === "visible";
  if (wanted && reader === undefined) {
    reader = new AbortController();
    void run(reader.signal);
  } else if (!wanted) {
    reader?.abort();
    reader = undefined;
  }
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
  let timer = setTimeout(() => silence.abort(), silenceMs);
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
      timer = setTimeout(() => silence.abort(), silenceMs);
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
  for (const listener of listeners) listener(event);
}
