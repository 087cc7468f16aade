import { type ApiError, errorOf } from "@/lib/api-error";
import { backoffMs } from "@/lib/backoff";
import { jsonOrUndefined } from "@/lib/json";
import { readEvents } from "@/lib/sse";
import { parseChunk, type StreamChunk } from "./protocol";

/** How a run reaches this page. Each answers with the raw response, so that status and body are decided on here. */
export interface RunTransport {
  /** Asks for the running turn from its start, or for the one with an id from after an event of it. */
  resume(lastEventId: string, signal: AbortSignal, runId?: string): Promise<Response>;
  /** Ends after `ms` milliseconds, or earlier when the network comes back. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  /** 0 ≤ value < 1; spreads the retries of many pages. */
  random(): number;
}

/** What a connection tells the one who follows it. */
export interface RunListener {
  /** The server took the request: from here on the run is the server's. */
  onAccepted(): void;
  onChunk(chunk: StreamChunk): void;
  /** The connection was lost (true) or is back (false). */
  onReconnecting(reconnecting: boolean): void;
}

/** How following a run ended. */
export type RunEnd =
  /** The stream said that it is complete. */
  | { readonly kind: "done" }
  /** Nothing runs (any more): what there is, is in the database. */
  | { readonly kind: "idle" }
  /** The server did not take the request; null when it was not reached at all. */
  | { readonly kind: "refused"; readonly error: ApiError | null }
  /** The page went on to something else. */
  | { readonly kind: "aborted" };

/** Somebody watches an answer that stands still, so the first try comes soon. */
const RETRY_BACKOFF = { firstMs: 250, longestMs: 8_000 };

/** Whether asking again later can help: the server is busy, restarting, or behind a gateway that is. */
const isTransient = (status: number): boolean => status === 429 || status >= 500;

/**
 * Follows one run to its end. It begins with the response of `first`; when the network drops, it goes on from the last
 * event it saw, for as long as the page wants it.
 */
export async function followRun(
  first: (signal: AbortSignal) => Promise<Response>,
  transport: RunTransport,
  listener: RunListener,
  signal: AbortSignal,
): Promise<RunEnd> {
  const connection = new Connection(transport, listener, signal);
  let response: Response;
  try {
    response = await first(signal);
  } catch {
    if (signal.aborted) return { kind: "aborted" };
    return connection.afterLostRequest();
  }
  if (response.status === 204) return { kind: "idle" };
  if (!response.ok) return { kind: "refused", error: await errorOf(response) };
  listener.onAccepted();
  return connection.follow(response);
}

class Connection {
  readonly #transport: RunTransport;
  readonly #listener: RunListener;
  readonly #signal: AbortSignal;
  #lastEventId = "";
  #runId: string | undefined;
  #attempt = 0;

  constructor(transport: RunTransport, listener: RunListener, signal: AbortSignal) {
    this.#transport = transport;
    this.#listener = listener;
    this.#signal = signal;
  }

  /** A request that broke before its answer may have reached the server: then its run can be found and followed. */
  async afterLostRequest(): Promise<RunEnd> {
    const response = await this.#transport.resume("", this.#signal).catch(() => null);
    if (this.#signal.aborted) return { kind: "aborted" };
    if (!response?.ok || response.status === 204) return { kind: "refused", error: null };
    this.#listener.onAccepted();
    return this.follow(response);
  }

  async follow(first: Response): Promise<RunEnd> {
    for (let response: Response | null = first; ; response = await this.#reconnect()) {
      if (this.#signal.aborted) return { kind: "aborted" };
      if (!response) continue;
      if (response.status === 204) return { kind: "idle" };
      if (!response.ok && !isTransient(response.status))
        return { kind: "refused", error: await errorOf(response) };
      if (response.ok && (await this.#readEvents(response))) return { kind: "done" };
      if (!this.#signal.aborted) this.#listener.onReconnecting(true);
    }
  }

  /** True when the stream said that it is complete, false when it broke off. */
  async #readEvents(response: Response): Promise<boolean> {
    if (!response.body) return false;
    this.#listener.onReconnecting(false);
    try {
      for await (const event of readEvents(response.body)) {
        if (event.data === "[DONE]") return true;
        this.#handleEvent(event.id, event.data);
      }
    } catch {
      // A broken connection; the caller goes on from the last event.
    }
    return false;
  }

  #handleEvent(id: string, data: string): void {
    // A server that was killed may not know all that it told; then it tells the turn again, from its first event.
    if (id !== "") this.#lastEventId = id;
    this.#attempt = 0;
    const chunk = parseChunk(jsonOrUndefined(data));
    if (chunk?.type === "start") this.#runId = chunk.messageMetadata?.runId;
    if (chunk) this.#listener.onChunk(chunk);
  }

  async #reconnect(): Promise<Response | null> {
    const pause = backoffMs(RETRY_BACKOFF, this.#attempt, this.#transport.random());
    this.#attempt += 1;
    await this.#transport.wait(pause, this.#signal);
    if (this.#signal.aborted) return null;
    return this.#transport.resume(this.#lastEventId, this.#signal, this.#runId).catch(() => null);
  }
}
