import type { Topics } from "./topics";

/** Which message's words are being changed. */
export class Edited {
  readonly #topics: Topics;
  #id: string | null = null;

  constructor(topics: Topics) {
    this.#topics = topics;
  }

  /** Whether it is this message. */
  is(id: string): boolean {
    return this.#id === id;
  }

  /** Begins with a message, or ends with null. */
  set(id: string | null): void {
    const last = this.#id;
    this.#id = id;
    for (const one of [last, id]) if (one !== null) this.#topics.publish(one);
  }
}
