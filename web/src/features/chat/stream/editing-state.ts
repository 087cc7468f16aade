import type { KeyedEmitter } from "./keyed-emitter";

/** Which message's words are being changed. */
export class EditingState {
  readonly #emitter: KeyedEmitter;
  #id: string | null = null;

  constructor(emitter: KeyedEmitter) {
    this.#emitter = emitter;
  }

  /** Whether it is this message. */
  isEditing(id: string): boolean {
    return this.#id === id;
  }

  /** Begins with a message, or ends with null. */
  set(id: string | null): void {
    const last = this.#id;
    this.#id = id;
    for (const one of [last, id]) if (one !== null) this.#emitter.emit(one);
  }
}
