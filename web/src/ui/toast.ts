import type { Tone } from "./badge";

export interface Toast {
  id: number;
  title: string;
  description?: string;
  /** What there is to say beyond the description, in a paragraph of its own. */
  detail?: string;
  /** What can be done about it as long as the toast is there. */
  action?: { readonly label: string; readonly run: () => void };
  tone: Tone;
}

/** How long a toast stays when nobody points at it. */
export const toastLifetimeMs = 5_000;
/** The same with something to do in it. */
export const actionLifetimeMs = 10_000;
const shownAtOnce = 3;

let toasts: readonly Toast[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/** Tells the user what happened. The same is told once at a time, and the oldest toast makes room when there are more than three. */
export function toast(content: Omit<Toast, "id" | "tone"> & { tone?: Tone }): void {
  const added: Toast = { tone: "neutral", ...content, id: nextId++ };
  const others = toasts.filter(
    ({ title, description, action }) =>
      action !== undefined || title !== added.title || description !== added.description,
  );
  change([...others, added].slice(-shownAtOnce));
}

export function dismissToast(id: number): void {
  change(toasts.filter((item) => item.id !== id));
}

let host: Element | null = null;

/** Where the toasts stand: within the open dialog, because a dialog makes all around it inert, else on the page. */
export function hostToasts(dialog: Element | null): void {
  host = dialog;
  change([...toasts]);
}

export function readToastHost(): Element | null {
  return host;
}

export function readToasts(): readonly Toast[] {
  return toasts;
}

export function subscribeToasts(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
