import { type ApiError, errorOf } from "@/lib/api-error";
import { backoffMs } from "@/lib/backoff";
import { jsonOrUndefined } from "@/lib/json";
import { readEvents } from "@/lib/sse";
import { parseChunk, type StreamChunk } from "./protocol";

/** Requests of a turn. They resolve to raw responses, because the caller decides on status and body. */
export interface TurnTransport {
  /** Requests the running turn from its start, or the turn `turnId` after an event. */
  resume(lastEventId: string, signal: AbortSignal, turnId?: string): Promise<Response>;
  /** Waits for `ms` milliseconds, or until the network is back. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  /** Returns a number from 0 to 1 (exclusive), which spreads the retries of many pages. */
  random(): number;
}

/** Notifications about a followed turn. */
interface TurnListener {
  /** Reports that the server accepted the request; from now on the turn continues without this page. */
  onAccepted(): void;
  onChunk(chunk: StreamChunk): void;
  /** Reports that the connection was lost (true) or restored (false). */
  onReconnecting(reconnecting: boolean): void;
}

/** Reason why following a turn ended. */
export type TurnEnd =
  /** The stream is complete. */
  | { readonly kind: "done" }
  /** No turn is running; everything is stored. */
  | { readonly kind: "idle" }
  /** The server refused the request; the error is null if it was unreachable. */
  | { readonly kind: "refused"; readonly error: ApiError | null }
  /** The page stopped following. */
  | { readonly kind: "aborted" };

/** The first retry is early, because the user is watching a stalled answer. */
const RETRY_BACKOFF = { firstMs: 250, longestMs: 8_000 };

/** Returns true if a retry may help: the server or a gateway is busy or restarting. */
const isTransient = (status: number): boolean => status === 429 || status >= 500;

/**
 * Follows a turn to its end, beginning with the response of `first`. After a lost connection it resumes from the last
 * event until `signal` is aborted.
 */
export async function followTurn(
  first: (signal: AbortSignal) => Promise<Response>,
  transport: TurnTransport,
  listener: TurnListener,
  signal: AbortSignal,
): Promise<TurnEnd> {
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
  readonly #transport: TurnTransport;
  readonly #listener: TurnListener;
  readonly #signal: AbortSignal;
  #lastEventId = "";
  #turnId: string | undefined;
  #attempt = 0;

  constructor(transport: TurnTransport, listener: TurnListener, signal: AbortSignal) {
    this.#transport = transport;
    this.#listener = listener;
    this.#signal = signal;
  }

  /** Looks for the turn of a request whose response was lost: the server may have received it. */
  async afterLostRequest(): Promise<TurnEnd> {
    const response = await this.#transport.resume("", this.#signal).catch(() => null);
    if (this.#signal.aborted) return { kind: "aborted" };
    if (!response?.ok || response.status === 204) return { kind: "refused", error: null };
    this.#listener.onAccepted();
    return this.follow(response);
  }

  async follow(first: Response): Promise<TurnEnd> {
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

  /** Reads a stream; resolves to true if it is complete, false if it broke off. */
  async #readEvents(response: Response): Promise<boolean> {
    if (!response.body) return false;
    this.#listener.onReconnecting(false);
    try {
      for await (const event of readEvents(response.body)) {
        if (event.data === "[DONE]") return true;
        this.#handleEvent(event.id, event.data);
      }
    } catch {
      // The connection broke; the caller resumes from the last event.
    }
    return false;
  }

  #handleEvent(id: string, data: string): void {
    // A killed server may have lost its last events; then it replays the turn from the first event on.
    if (id !== "") this.#lastEventId = id;
    this.#attempt = 0;
    const chunk = parseChunk(jsonOrUndefined(data));
    if (chunk?.type === "start") this.#turnId = chunk.messageMetadata?.turnId;
    if (chunk) this.#listener.onChunk(chunk);
  }

  async #reconnect(): Promise<Response | null> {
    const pause = backoffMs(RETRY_BACKOFF, this.#attempt, this.#transport.random());
    this.#attempt += 1;
    await this.#transport.wait(pause, this.#signal);
    if (this.#signal.aborted) return null;
    return this.#transport.resume(this.#lastEventId, this.#signal, this.#turnId).catch(() => null);
  }
}
