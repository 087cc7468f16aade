/**
 * Service worker: keeps the files of the first screens, so that the app opens without a network. Responses of the API
 * and texts of users are never stored, and requests for them never pass through it.
 */

interface LifetimeEvent extends Event {
  waitUntil: (work: Promise<unknown>) => void;
}

interface RequestEvent extends LifetimeEvent {
  readonly request: Request;
  respondWith: (response: Promise<Response>) => void;
}

interface WorkerScope {
  addEventListener(type: "install" | "activate", listener: (event: LifetimeEvent) => void): void;
  addEventListener(type: "fetch", listener: (event: RequestEvent) => void): void;
  skipWaiting: () => Promise<void>;
  readonly clients: { claim: () => Promise<void> };
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
  await Promise.all(names.filter((name) => name !== cacheName).map((name) => caches.delete(name)));
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
