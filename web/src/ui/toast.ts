import { messageOf } from "@/lib/api-error";
import { t } from "@/lib/t";
import { forgetAfter } from "@/lib/user-data";
import type { Tone } from "./badge";

export interface Toast {
  title: string;
  description?: string;
  /** Second paragraph below the description. */
  detail?: string;
  /** Action that the toast offers. */
  action?: { readonly label: string; readonly run: () => void };
  tone: Tone;
}

/** Renderer of toasts. */
interface ToastOutlet {
  readonly show: (toast: Toast) => void;
  /** Replaces the renderer by an empty one, which connects again. */
  readonly clear: () => void;
}

/** Toasts from before the renderer was loaded. */
let early: Toast[] = [];
let outlet: ToastOutlet | undefined;

/**
 * Returns the id of a toast, which keeps the same message from being shown twice. Toasts with an action have none,
 * because their actions may differ.
 */
export function toastId({ title, description, action }: Omit<Toast, "tone">): string | undefined {
  return action ? undefined : `${title}\n${description ?? ""}`;
}

/** Shows a toast. */
export function toast(content: Omit<Toast, "tone"> & { tone?: Tone }): void {
  const added: Toast = { tone: "neutral", ...content };
  if (outlet) outlet.show(added);
  else early.push(added);
}

/** Shows why something failed. */
export function toastError(cause: unknown): void {
  toastFailure(t("error.title"), cause);
}

/** Shows what failed, and why. */
export function toastFailure(title: string, cause: unknown): void {
  toast({ title, description: messageOf(cause), tone: "err" });
}

/** Removes all toasts. */
export function clearToasts(): void {
  early = [];
  outlet?.clear();
  // Toasts of the next user wait for the new renderer; the old one would take them along.
  outlet = undefined;
}
forgetAfter("session", clearToasts);

/** Sends all toasts to a renderer, earlier ones included; the result disconnects it. */
export function connectToasts(to: ToastOutlet): () => void {
  outlet = to;
  for (const waiting of early.splice(0)) to.show(waiting);
  return () => {
    outlet = undefined;
  };
}

const hostListeners = new Set<() => void>();
let host: HTMLElement | null = null;

/**
 * Renders the toasts within the open dialog, because a dialog makes everything around it inert; null renders them on
 * the page.
 */
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
