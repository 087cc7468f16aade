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
