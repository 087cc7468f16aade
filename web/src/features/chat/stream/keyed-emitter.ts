/** Listeners by topic. */
export class KeyedEmitter {
  readonly #listeners = new Map<string, Set<() => void>>();

  /** Calls `listener` whenever the topic is published; the result ends that. */
  subscribe(key: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(key);
    };
  }

  /** Tells the listeners of a topic. */
  emit(key: string): void {
    this.#listeners.get(key)?.forEach((listener) => listener());
  }
}
