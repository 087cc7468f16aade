/** Event of a server-sent event stream. */
export interface ServerEvent {
  /** Last event id; empty if the server never sent one. */
  readonly id: string;
  /** The `data:` lines, joined by line feeds. */
  readonly data: string;
}

/**
 * Reads the events of a response's body, however its bytes are split, until it ends or breaks. `onBytes` is called for
 * all data, comments included.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  onBytes?: () => void,
): AsyncGenerator<ServerEvent> {
  const parser = new SseParser();
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes?.();
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    // The connection may be closed already.
    await reader.cancel().catch(() => undefined);
  }
}

/** Incremental parser of an event stream. */
class SseParser {
  #rest = "";
  #id = "";
  #data: string[] = [];

  /** Returns the events that a piece completes. */
  push(piece: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    const text = this.#rest + piece;
    // A carriage return at the end may be half of a line break, so it waits for the next piece.
    const usable = text.endsWith("\r") ? text.slice(0, -1) : text;
    const lines = usable.split(/\r\n|\r|\n/u);
    this.#rest = (lines.pop() ?? "") + text.slice(usable.length);
    for (const line of lines) this.#endLine(line, events);
    return events;
  }

  #endLine(line: string, events: ServerEvent[]): void {
    if (line === "") {
      if (this.#data.length > 0) events.push({ id: this.#id, data: this.#data.join("\n") });
      this.#data = [];
      return;
    }
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /u, "");
    if (field === "data") this.#data.push(value);
    else if (field === "id" && !value.includes("\0")) this.#id = value;
  }
}
