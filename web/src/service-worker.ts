/**
 * Service worker: keeps the files of the first screens, so that the app opens without a network, and shows
 * notifications. Responses of the API and texts of users are never stored, and requests for them never pass through it.
 */
import type {
  ChatNotification,
  NotificationTexts,
  NotifyMessage,
  OpenChatMessage,
} from "./lib/notifications";
import { tagOf } from "./lib/notification-tag";

interface LifetimeEvent extends Event {
  waitUntil: (work: Promise<unknown>) => void;
}

interface RequestEvent extends LifetimeEvent {
  readonly request: Request;
  respondWith: (response: Promise<Response>) => void;
}

interface DataEvent extends LifetimeEvent {
  readonly data: unknown;
}

interface PushEvent extends LifetimeEvent {
  readonly data: { json: () => unknown } | null;
}

interface ClickEvent extends LifetimeEvent {
  readonly notification: Notification;
}

interface WindowClient {
  readonly visibilityState: DocumentVisibilityState;
  focus: () => Promise<unknown>;
  postMessage: (message: unknown, transfer: Transferable[]) => void;
}

interface WorkerScope {
  addEventListener(type: "install" | "activate", listener: (event: LifetimeEvent) => void): void;
  addEventListener(type: "fetch", listener: (event: RequestEvent) => void): void;
  addEventListener(type: "message", listener: (event: DataEvent) => void): void;
  addEventListener(type: "push", listener: (event: PushEvent) => void): void;
  addEventListener(type: "notificationclick", listener: (event: ClickEvent) => void): void;
  skipWaiting: () => Promise<void>;
  readonly registration: ServiceWorkerRegistration;
  readonly clients: {
    claim: () => Promise<void>;
    matchAll: (options: { type: "window"; includeUncontrolled: true }) => Promise<readonly WindowClient[]>;
    openWindow: (url: string) => Promise<unknown>;
  };
}

/** Hashed files of the first screens, written by the build. Another version of the app has others. */
declare const SHELL_ASSETS: readonly string[];
/** Name of the cache: a hash of this version's page and files. */
declare const SHELL_VERSION: string;

const scope = globalThis as unknown as WorkerScope;
const cacheName = `shell-${SHELL_VERSION}`;
/** Files of the shell whose names stay the same: the network has the newest. */
const SHELL_PAGES = ["/", "/before-paint.js"];
/** Paths whose page is the web app. All others belong to the server. */
const APP_PATHS = new Set(["/", "/auth"]);

scope.addEventListener("install", (event) => event.waitUntil(storeShell()));
scope.addEventListener("activate", (event) => event.waitUntil(takeOver()));
scope.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== location.origin) return;
  if (url.pathname.startsWith("/assets/")) event.respondWith(cacheFirst(request));
  else if (request.mode === "navigate" && APP_PATHS.has(url.pathname))
    event.respondWith(networkFirst(request, "/"));
  else if (url.pathname === "/before-paint.js") event.respondWith(networkFirst(request, url.pathname));
});
scope.addEventListener("message", (event) => {
  const { notify } = event.data as Partial<NotifyMessage>;
  if (notify) event.waitUntil(showUnlessSeen(notify));
});
scope.addEventListener("push", (event) => {
  const news = event.data?.json() as ChatNotification | undefined;
  if (news) event.waitUntil(mustShowPush ? show(news) : showUnlessSeen(news));
});
scope.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const { chatId } = event.notification.data as NotificationData;
  event.waitUntil(openChat(chatId));
});

/**
 * Safari withdraws the permission after three push messages without a notification, also while a page is visible. The
 * other engines expect none then.
 */
const mustShowPush = !/Chrome|Firefox/u.test(navigator.userAgent);
const openPages = () => scope.clients.matchAll({ type: "window", includeUncontrolled: true });

interface NotificationData {
  chatId: string;
}

/** Shows a notification unless a page is visible, which shows the same. */
async function showUnlessSeen(news: ChatNotification): Promise<void> {
  const isSeen = (await openPages()).some(({ visibilityState }) => visibilityState === "visible");
  if (!isSeen) await show(news);
}

/** Shows a notification in place of earlier ones of its chat. */
async function show(news: ChatNotification): Promise<void> {
  const texts = await readTexts();
  const tag = tagOf(news);
  for (const earlier of await scope.registration.getNotifications()) {
    const { chatId } = earlier.data as NotificationData;
    if (chatId === news.sessionId && earlier.tag !== tag) earlier.close();
  }
  const data: NotificationData = { chatId: news.sessionId };
  await scope.registration.showNotification(news.title, {
    body: texts === undefined ? "" : bodyOf(news, texts),
    tag,
    data,
    icon: "/icon-192.png",
    lang: texts?.lang ?? "",
  });
}

function bodyOf({ state, outcome, waitingFor }: ChatNotification, texts: NotificationTexts): string {
  if (state === "ended") return outcome === "failed" ? texts.failed : texts.done;
  return waitingFor ? texts[waitingFor.kind].replace("{tool}", () => waitingFor.tool) : texts.unknown;
}

/** Returns the texts that the page has stored. */
async function readTexts(): Promise<NotificationTexts | undefined> {
  const stored = await caches.match("/notification-texts");
  return (await stored?.json()) as NotificationTexts | undefined;
}

/** Time that a page has to answer before it is asked again. */
const OPENING_TIMEOUT_MS = 500;
/** Number of times that a page is asked: one that loads slowly has 20 seconds. */
const MAX_OPENING_ATTEMPTS = 40;

/** Opens a chat in a page that is open, or in a new one. */
async function openChat(chatId: string): Promise<void> {
  const [page] = await openPages();
  if (!page) {
    await scope.clients.openWindow(`/?c=${encodeURIComponent(chatId)}`);
    return;
  }
  const focused = page.focus();
  // A page that is still loading does not listen yet, and one without its list of chats does not answer.
  for (let attempt = 0; attempt < MAX_OPENING_ATTEMPTS; attempt += 1)
    if (await hasHandled(page, chatId)) break;
  await focused;
}

/** Asks a page to open a chat. Resolves to false if it has not done so in time. */
function hasHandled(page: WindowClient, chatId: string): Promise<boolean> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), OPENING_TIMEOUT_MS);
    port1.addEventListener("message", () => {
      clearTimeout(timer);
      resolve(true);
    });
    port1.start();
    page.postMessage({ openChat: chatId } satisfies OpenChatMessage, [port2]);
  });
}

/** Stores the shell, or fails as a whole: a page without its files would be worse than none. */
async function storeShell(): Promise<void> {
  const cache = await caches.open(cacheName);
  const pages = SHELL_PAGES.map((path) => new Request(path, { cache: "no-store", credentials: "omit" }));
  await cache.addAll([...pages, ...SHELL_ASSETS]);
  const page = await (await cache.match("/"))?.text();
  // During an upgrade the page may come from a server of another version.
  if (!page?.includes(SHELL_ASSETS[0] ?? "")) {
    await caches.delete(cacheName);
    throw new Error("The page is of another version.");
  }
  await scope.skipWaiting();
}

/** Deletes the shells of other versions, and serves the pages that are open. */
async function takeOver(): Promise<void> {
  const names = await caches.keys();
  await Promise.all(
    names
      .filter((name) => name.startsWith("shell-") && name !== cacheName)
      .map((name) => caches.delete(name)),
  );
  await scope.clients.claim();
}

/** Returns a file that never changes, and keeps it for the next time. */
async function cacheFirst(request: Request): Promise<Response> {
  const stored = await caches.match(request);
  if (stored) return stored;
  const response = await fetch(request);
  if (response.status === 200) {
    const copy = response.clone();
    // A full disk must not cost the response.
    void caches
      .open(cacheName)
      .then((cache) => cache.put(request, copy))
      .catch(() => undefined);
  }
  return response;
}

/** Returns the server's response, or the stored one if there is no connection. */
async function networkFirst(request: Request, path: string): Promise<Response> {
  try {
    return await fetch(request);
  } catch (error) {
    const stored = await caches.match(path);
    if (stored) return stored;
    throw error;
  }
}
