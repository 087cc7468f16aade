import { callApi, jsonBody } from "./api-client";
import type { AwaitedInteraction, TurnEvent } from "./events";
import { t } from "./later-texts";
import { preload } from "./lazy-part";
import { tagOf } from "./notification-tag";
import { readSession } from "./session";
import { forgetAfter } from "./user-data";

/** Key of the user for whom this browser shows notifications. */
const STORAGE_KEY = "notifications";
/** Where the service worker finds its texts: it has no page to ask when a push message arrives. */
const TEXTS_CACHE = "notifications";
const TEXTS_PATH = "/notification-texts";

/** News of a chat, as the service worker shows it. A push message has the same content. */
export interface ChatNotification extends Pick<TurnEvent, "sessionId" | "turnId" | "state" | "outcome"> {
  /** Title of the chat. */
  title: string;
  waitingFor?: AwaitedInteraction | undefined;
}

/** Message of the page to the service worker. */
export interface NotifyMessage {
  notify: ChatNotification;
}

/**
 * Message of the service worker to a page: the user pressed a notification. The page answers on the port that comes with
 * it, or is asked again.
 */
export interface OpenChatMessage {
  openChat: string;
}

/** Texts of notifications in the user's language. `{tool}` stands for the name of a tool. */
export type NotificationTexts = Record<
  "lang" | "done" | "failed" | "unknown" | AwaitedInteraction["kind"],
  string
>;

/** Device that receives push messages. */
export interface PushDevice {
  id: string;
  /** True if this request came from it. */
  current: boolean;
  userAgent: string | null;
  createdAt: string;
}

export interface PushState {
  publicKey: string;
  devices: readonly PushDevice[];
}

/** Returns the permission of the browser, or undefined if it has no notifications. */
export function notificationPermission(): NotificationPermission | undefined {
  // Over plain HTTP browsers have the interface, but permit nothing.
  return "Notification" in globalThis && isSecureContext ? Notification.permission : undefined;
}

/** Returns true if the browser can show notifications while no page is open. */
export function supportsPush(): boolean {
  return (
    "serviceWorker" in navigator && "PushManager" in globalThis && notificationPermission() !== undefined
  );
}

/** Returns true if the user has switched notifications on in this browser, and the browser permits them. */
export function isNotifying(): boolean {
  const session = readSession();
  if (!("user" in session) || notificationPermission() !== "granted") return false;
  try {
    return localStorage.getItem(STORAGE_KEY) === session.user.id;
  } catch {
    return false;
  }
}

/**
 * Asks the browser's permission for notifications, and switches them on if the user gives it. Resolves to true if they
 * are on.
 */
export async function switchOn(userId: string): Promise<boolean> {
  if ((await Notification.requestPermission()) !== "granted") return false;
  localStorage.setItem(STORAGE_KEY, userId);
  await storeTexts();
  return true;
}

/** Switches notifications of this browser off. */
export function switchOff(): void {
  try {
    localStorage.removeItem(STORAGE_KEY);
  } catch {
    // Without storage they are never on.
  }
  if ("caches" in globalThis) preload(() => caches.delete(TEXTS_CACHE));
}

/** Stores the texts of notifications for the service worker, in the page's language. */
export async function storeTexts(lang = document.documentElement.lang): Promise<void> {
  if (!("caches" in globalThis)) return;
  const tool = "{tool}";
  const texts: NotificationTexts = {
    lang,
    done: t("attention.replied"),
    failed: t("attention.failed"),
    unknown: t("attention.unknown"),
    approval: t("attention.approval", { tool }),
    elicitation: t("attention.elicitation", { tool }),
    "sign-in": t("attention.sign-in", { tool }),
  };
  const cache = await caches.open(TEXTS_CACHE);
  await cache.put(TEXTS_PATH, Response.json(texts));
}

/** Returns what has happened in a chat. */
export function notificationText({ state, outcome, waitingFor }: ChatNotification): string {
  if (state === "ended") return t(outcome === "failed" ? "attention.failed" : "attention.replied");
  if (waitingFor === undefined) return t("attention.unknown");
  return t(`attention.${waitingFor.kind}`, { tool: waitingFor.tool });
}

/** Shows a notification, unless a page is visible. Of several tabs that show the same one, one is seen. */
export async function showNotification(
  news: ChatNotification,
  onClick: (chatId: string) => void,
): Promise<void> {
  const worker = (await navigator.serviceWorker?.getRegistration())?.active;
  if (worker) {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A service worker has no target origin.
    worker.postMessage({ notify: news } satisfies NotifyMessage);
    return;
  }
  const shown = new Notification(news.title, { body: notificationText(news), tag: tagOf(news) });
  shown.addEventListener("click", () => {
    window.focus();
    shown.close();
    onClick(news.sessionId);
  });
}

/** Closes all notifications: the user has come back. */
export async function closeNotifications(): Promise<void> {
  const registration = await navigator.serviceWorker?.getRegistration();
  for (const notification of (await registration?.getNotifications()) ?? []) notification.close();
}

/** Returns the server's key and the devices that receive push messages. */
export function readPushState(): Promise<PushState> {
  return callApi("/api/push");
}

/** Removes a device from those that receive push messages. */
export async function removePushDevice(id: string): Promise<void> {
  await callApi(`/api/push/subscriptions/${encodeURIComponent(id)}`, { method: "DELETE" });
}

/**
 * Subscribes this browser to push messages.
 * @throws if its push service or the server refuses
 */
export async function subscribePush(publicKey: string): Promise<void> {
  const { pushManager } = await navigator.serviceWorker.ready;
  // One that was made with another key of the server would be of no use.
  await (await pushManager.getSubscription())?.unsubscribe();
  const subscription = await pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: publicKey,
  });
  await callApi("/api/push/subscriptions", jsonBody(subscription));
}

/** Ends the push subscription of this browser. */
export async function unsubscribePush(): Promise<void> {
  const registration = await navigator.serviceWorker?.getRegistration();
  await (await registration?.pushManager?.getSubscription())?.unsubscribe();
}

// The server's half ends with the sign-in.
forgetAfter("user", () => {
  switchOff();
  preload(unsubscribePush);
});
