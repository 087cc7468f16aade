import { lazyFirstPart, lazyPart, loadWithRetries, preload, withLaterTexts } from "@/lib/lazy-part";
import { finishEmailLink } from "@/lib/session";
import { loadLaterTexts } from "@/lib/texts";

/** Time after which the parts are loaded even if the browser is still busy. */
const PREFETCH_DELAY_MS = 10_000;

/** Loads the parts of the main screen in parallel, so that none waits for another. Resolves when they can be shown. */
export async function preloadHome(): Promise<void> {
  preload(loadLaterTexts);
  await Promise.all([HomePage.preload(), Toaster.preload()]);
}

/** Shows the result of the email link or redirect that opened the page. */
export function showRedirectResults(): void {
  void loadWithRetries(() => withLaterTexts(() => import("./redirect-results"))).then(
    (results) => results.showRedirectResults(),
    finishEmailLink,
  );
}

/** Loads the parts for the first clicks once the browser is idle, so that they work after a network loss. */
export function prefetchParts(): () => void {
  const load = () => {
    for (const part of [ServersPanel, ToolsPanel, SettingsPanel, CommandPalette]) void part.preload();
    preload(() => import("@/features/chat/composer/model-details"));
  };
  // Safari has no idle callbacks.
  if (!("requestIdleCallback" in window)) {
    const timer = setTimeout(load, PREFETCH_DELAY_MS);
    return () => clearTimeout(timer);
  }
  const callback = requestIdleCallback(load, { timeout: PREFETCH_DELAY_MS });
  return () => cancelIdleCallback(callback);
}

export const HomePage = lazyFirstPart(async () => (await import("./home-page")).HomePage);
export const ServersPanel = lazyPart(
  async () => (await import("@/features/servers/servers-panel")).ServersPanel,
);
export const RegistrySheet = lazyPart(
  async () => (await import("@/features/servers/registry/registry-sheet")).RegistrySheet,
);
export const ToolsPanel = lazyPart(async () => (await import("@/features/tools/tools-panel")).ToolsPanel);
export const SettingsPanel = lazyPart(
  async () => (await import("@/features/account/settings-panel")).SettingsPanel,
);

export const Attention = lazyPart(
  async () => (await import("@/features/chat/attention/attention")).Attention,
  true,
);

export const CommandPalette = lazyPart(
  async () => (await import("./palette/command-palette")).CommandPalette,
);
export const ShortcutsDialog = lazyPart(
  async () => (await import("./palette/shortcuts-dialog")).ShortcutsDialog,
);
export const ToolSheet = lazyPart(async () => (await import("@/features/tools/tool-sheet")).ToolSheet);

export const SharedPage = lazyPart(async () => (await import("@/features/share/shared-page")).SharedPage);

/** No toast can be needed before the first paint. */
export const Toaster = lazyFirstPart(async () => (await import("@/ui/toaster")).Toaster);
