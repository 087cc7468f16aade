import { useEffect } from "react";
import { subscribeEvents } from "@/lib/events";
import type { ChatRegistry } from "../chat-registry";
import type { ChatStore } from "../stream/chat-store";
import { chatsWithHeld, type HeldMessage, readHeld, refuseHeld, removeHeld, subscribeHeld } from "./outbox";

/** Delay before the next attempt if the server was unreachable or busy. */
const RETRY_MS = 5_000;

/** Sends the held messages of all chats as soon as the network is back. */
export function useHeldSender(registry: ChatRegistry): void {
  useEffect(() => {
    const sender = new HeldSender(registry);
    const unsubscribe = [
      subscribeHeld(sender.flush),
      subscribeEvents((event) => {
        if (event.type === "open" || (event.type === "turn" && event.state === "ended")) sender.flush();
      }),
    ];
    addEventListener("online", sender.flush);
    sender.flush();
    return () => {
      removeEventListener("online", sender.flush);
      for (const stop of unsubscribe) stop();
      sender.close();
    };
  }, [registry]);
}

/** Sends the held messages of each chat in order, each after the answer to the previous one. */
class HeldSender {
  readonly #registry: ChatRegistry;
  /** Ids of the chats with a request in progress. */
  readonly #sending = new Set<string>();
  readonly #retries = new Set<ReturnType<typeof setTimeout>>();
  /** By chat id: functions that stop waiting for the end of an answer. */
  readonly #waits = new Map<string, () => void>();

  constructor(registry: ChatRegistry) {
    this.#registry = registry;
  }

  readonly flush = (): void => {
    if (!navigator.onLine) return;
    for (const chatId of chatsWithHeld()) {
      if (this.#sending.has(chatId)) continue;
      this.#sending.add(chatId);
      void alone(chatId, () => this.#sendNext(chatId)).finally(() => this.#sending.delete(chatId));
    }
  };

  close(): void {
    for (const timer of this.#retries) clearTimeout(timer);
    for (const stop of this.#waits.values()) stop();
  }

  async #sendNext(chatId: string): Promise<void> {
    const next = readHeld(chatId)[0];
    if (next === undefined || next.refusal !== undefined) return;
    const store = this.#registry.getForSending(chatId);
    if (store.status().phase === "idle") await this.#send(chatId, store, next);
    if (readHeld(chatId).length > 0) this.#flushWhenIdle(chatId, store);
  }

  async #send(chatId: string, store: ChatStore, held: HeldMessage): Promise<void> {
    const { id, message, attachments, tools } = held;
    const result = await store.send({ message, messageId: id, attachments }, tools);
    if (result.accepted) return removeHeld(chatId, id);
    const { error } = result;
    if (error?.code === "message_exists") {
      // The message had arrived, only the response was lost.
      removeHeld(chatId, id);
      this.#flushLater(0);
      return store.reopen();
    }
    const isPassing = error === null || error.status === 409 || error.status === 429 || error.status >= 500;
    if (!isPassing) return refuseHeld(chatId, id, error);
    this.#flushLater((error?.retryAfterSeconds ?? 0) * 1_000);
  }

  #flushLater(wait: number): void {
    const timer = setTimeout(
      () => {
        this.#retries.delete(timer);
        this.flush();
      },
      Math.max(wait, RETRY_MS),
    );
    this.#retries.add(timer);
  }

  #flushWhenIdle(chatId: string, store: ChatStore): void {
    if (store.status().phase === "idle" || this.#waits.has(chatId)) return;
    const stop = store.subscribe(() => {
      if (store.status().phase !== "idle") return;
      stop();
      this.#waits.delete(chatId);
      this.flush();
    });
    this.#waits.set(chatId, stop);
  }
}

/**
 * Runs `send` in one tab at a time. Without a secure context there are no locks between tabs; then the message id
 * prevents a second copy.
 */
async function alone(chatId: string, send: () => Promise<void>): Promise<void> {
  if (!("locks" in navigator)) return send();
  await navigator.locks.request(`ai-chat-mcp.held.${chatId}`, send);
}
