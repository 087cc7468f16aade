import { forgetAfter } from "@/lib/user-data";
import type { Tone } from "./badge";

export interface Toast {
  title: string;
  description?: string;
  /** What there is to say beyond the description, in a paragraph of its own. */
  detail?: string;
  /** What can be done about it as long as the toast is there. */
  action?: { readonly label: string; readonly run: () => void };
  tone: Tone;
}

/** Shows toasts, and removes all that are shown. */
export interface ToastOutlet {
  readonly show: (toast: Toast) => void;
  readonly clear: () => void;
}

/** Toasts of the time before the part of the page that shows them was loaded. */
let early: Toast[] = [];
let outlet: ToastOutlet | undefined;

/**
 * Returns the id under which a toast is shown: the same message is shown once at a time. Toasts with an action have none,
 * because two of them are two things that can be done.
 */
export function toastId({ title, description, action }: Omit<Toast, "tone">): string | undefined {
  return action ? undefined : `${title}\n${description ?? ""}`;
}

/** Tells the user what happened. */
export function toast(content: Omit<Toast, "tone"> & { tone?: Tone }): void {
  const added: Toast = { tone: "neutral", ...content };
  if (outlet) outlet.show(added);
  else early.push(added);
}

/** Removes all toasts. */
export function clearToasts(): void {
  early = [];
  outlet?.clear();
}
forgetAfter("session", clearToasts);

/** Hands all toasts to an outlet from now on, those of before as well, until the returned function is called. */
export function connectToasts(to: ToastOutlet): () => void {
  outlet = to;
  for (const waiting of early.splice(0)) to.show(waiting);
  return () => {
    outlet = undefined;
  };
}

const hostListeners = new Set<() => void>();
let host: HTMLElement | null = null;

/** Renders the toasts within the open dialog, because a dialog makes everything around it inert; null: on the page. */
export function hostToasts(dialog: HTMLElement | null): void {
  host = dialog;
  for (const listener of hostListeners) listener();
}

export function readToastHost(): HTMLElement | null {
  return host;
}

export function subscribeToastHost(listener: () => void): () => void {
  hostListeners.add(listener);
  return () => hostListeners.delete(listener);
}
