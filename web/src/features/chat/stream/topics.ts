/** Listeners by topic. */
export class Topics {
  readonly #listeners = new Map<string, Set<() => void>>();

  /** Calls `listener` whenever the topic is published; the result ends that. */
  subscribe(topic: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set();
    this.#listeners.set(topic, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(topic);
    };
  }

  /** Tells the listeners of a topic. */
  publish(topic: string): void {
    this.#listeners.get(topic)?.forEach((listener) => listener());
  }
}
