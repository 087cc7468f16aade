/**
 * Registers the service worker, which lets the app open without a network. The app works as well without it: over plain
 * HTTP browsers have none, and a failure changes nothing.
 */
export function registerWorker(): void {
  if (import.meta.env.PROD) void navigator.serviceWorker?.register("/sw.js").catch(() => undefined);
}
