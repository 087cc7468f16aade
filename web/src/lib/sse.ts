/** One event of a server-sent event stream. */
export interface ServerEvent {
  /** The id in force when the event came; empty when the server never sent one. */
  readonly id: string;
  /** The `data:` lines, joined by line feeds. */
  readonly data: string;
}

/** Turns the text of an event stream into events, however it is cut. */
export class SseParser {
  #rest = "";
  #id = "";
  #data: string[] = [];

  /** The events that this piece completes. */
  push(piece: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    const text = this.#rest + piece;
    // A carriage return at the very end may be half of a line break, so it waits for the next piece.
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
