import type { KeyedEmitter } from "./keyed-emitter";

/** Id of the message that is being edited, with notifications of its row. */
export class EditingState {
  readonly #emitter: KeyedEmitter;
  #id: string | null = null;

  constructor(emitter: KeyedEmitter) {
    this.#emitter = emitter;
  }

  /** Returns true if this message is being edited. */
  isEditing(id: string): boolean {
    return this.#id === id;
  }

  /** Starts to edit a message, or ends editing with null. */
  set(id: string | null): void {
    const last = this.#id;
    this.#id = id;
    for (const one of [last, id]) if (one !== null) this.#emitter.emit(one);
  }
}
