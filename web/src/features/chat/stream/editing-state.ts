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

/** Event emitter with listeners by key. */
export class KeyedEmitter {
  readonly #listeners = new Map<string, Set<() => void>>();

  /** Calls `listener` on every event of a key; the result unsubscribes. */
  subscribe(key: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(key);
    };
  }

  /** Notifies the listeners of a key. */
  emit(key: string): void {
    this.#listeners.get(key)?.forEach((listener) => listener());
  }
}
