import type { Root } from "mdast";
import { useCallback, useSyncExternalStore } from "react";

/** Time limit per text. Ordinary texts of 200 kB take a tenth of it. */
const DEADLINE_MS = 3_000;

/** Tree of a text, or null after a timeout. */
type Result = Root | null;

/** Visible text, and its tree once parsed. */
interface Entry {
  readonly listeners: Set<() => void>;
  result?: Result;
}

// Texts are removed when no component shows them.
const entries = new Map<string, Entry>();
const settled = new Set<() => void>();
let worker: Worker | null = null;
let current: { text: string; id: number; timer: ReturnType<typeof setTimeout> } | null = null;
let lastId = 0;

/** Parses a text in a worker; undefined until then, null after a timeout. A null text requests nothing. */
export function useSlowParse(text: string | null): Result | undefined {
  const subscribe = useCallback(
    (listener: () => void) => (text === null ? () => undefined : follow(text, listener)),
    [text],
  );
  return useSyncExternalStore(
    subscribe,
    () => (text === null ? undefined : entries.get(text)?.result),
    () => undefined,
  );
}

/** Waits until no text is being parsed. */
export function slowParsesSettle(): Promise<void> {
  if (current === null) return Promise.resolve();
  return new Promise((resolve) => settled.add(resolve));
}

function follow(text: string, listener: () => void): () => void {
  const entry = entries.get(text) ?? { listeners: new Set() };
  entries.set(text, entry);
  entry.listeners.add(listener);
  parseNext();
  return () => {
    entry.listeners.delete(listener);
    if (entry.listeners.size === 0) entries.delete(text);
  };
}

function parseNext(): void {
  if (current !== null) return;
  const next = [...entries].find(([, { result }]) => result === undefined);
  if (next === undefined) {
    for (const resolve of settled) resolve();
    settled.clear();
    return;
  }
  lastId += 1;
  const [text] = next;
  // The first call also loads the worker; a slow network gets the same time again.
  const patience = worker === null ? 2 * DEADLINE_MS : DEADLINE_MS;
  worker ??= startWorker();
  current = { text, id: lastId, timer: setTimeout(giveUp, patience) };
  const message: ParseRequest = { id: lastId, text };
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has none
  worker.postMessage(message);
}

function startWorker(): Worker {
  const started = new Worker(new URL("./parse-worker.ts", import.meta.url), { type: "module" });
  started.addEventListener("message", ({ data }: MessageEvent<ParseResponse>) => {
    if (data.id === current?.id) settle(data.root);
  });
  // The worker failed to load or ran out of memory.
  started.addEventListener("error", giveUp);
  return started;
}

function giveUp(): void {
  worker?.terminate();
  worker = null;
  settle(null);
}

function settle(result: Result): void {
  if (current === null) return;
  clearTimeout(current.timer);
  const entry = entries.get(current.text);
  current = null;
  if (entry) {
    entry.result = result;
    for (const listener of entry.listeners) listener();
  }
  parseNext();
}

/** Request to the worker to parse a text. */
export interface ParseRequest {
  readonly id: number;
  readonly text: string;
}

/** Tree of a parsed text. */
export interface ParseResponse {
  readonly id: number;
  readonly root: Root;
}
