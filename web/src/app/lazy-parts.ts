import { lazyPart, loadWithRetries, preload } from "@/lib/lazy-part";
import { finishEmailLink } from "@/lib/session";

/** How long the browser may be busy before the parts are loaded all the same. */
const PREFETCH_DELAY_MS = 10_000;

const loadHome = () => import("./home-page");
const loadChat = () => import("@/features/chat/chat-panel");

/** Fetches what the main screen begins with, all at once, so that no part waits for another to ask for it. */
export function preloadHome(): void {
  preload(loadHome);
  preload(loadChat);
}

/** Says what a link or another site that led here has done. */
export function showRedirectResults(): void {
  void loadWithRetries(() => import("./redirect-results")).then(
    (results) => results.showRedirectResults(),
    finishEmailLink,
  );
}

/** Loads what the first clicks need as soon as the browser has nothing else to do, so that a lost network spares them. */
export function prefetchParts(): () => void {
  const load = () => {
    preload(() => import("@/features/servers/servers-panel"));
    preload(() => import("@/features/tools/tools-panel"));
    preload(() => import("@/features/account/settings-sheet"));
    preload(() => import("@/features/chat/composer/model-details"));
    preload(() => import("@/features/chat/message-actions/edit-message-form"));
  };
  // Safari has no idle callbacks.
  if (!("requestIdleCallback" in window)) {
    const timer = setTimeout(load, PREFETCH_DELAY_MS);
    return () => clearTimeout(timer);
  }
  const callback = requestIdleCallback(load, { timeout: PREFETCH_DELAY_MS });
  return () => cancelIdleCallback(callback);
}

export const HomePage = lazyPart(async () => (await loadHome()).HomePage);
export const ChatPanel = lazyPart(async () => (await loadChat()).ChatPanel);
export const ServersPanel = lazyPart(
  async () => (await import("@/features/servers/servers-panel")).ServersPanel,
);
export const ToolsPanel = lazyPart(async () => (await import("@/features/tools/tools-panel")).ToolsPanel);
export const SettingsSheet = lazyPart(
  async () => (await import("@/features/account/settings-sheet")).SettingsSheet,
);

export const SharedPage = lazyPart(async () => (await import("@/features/share/shared-page")).SharedPage);

/** Nothing has happened yet at the first paint that a toast could tell. */
export const Toaster = lazyPart(async () => (await import("@/ui/toaster")).Toaster);
