import { lazy } from "react";

const loadHome = () => import("./home-page");
const loadChat = () => import("@/features/chat/chat-panel");

/** Fetches what the main screen begins with, all at once, so that no part waits for another to ask for it. */
export function preloadHome(): void {
  void loadHome();
  void loadChat();
}

/** Says what a link or another site that led here has done. */
export function tellLandings(): void {
  void import("./landings").then((landings) => landings.tellLandings());
}

export const HomePage = lazy(async () => ({ default: (await loadHome()).HomePage }));
export const ChatPanel = lazy(async () => ({ default: (await loadChat()).ChatPanel }));
export const ServersPanel = lazy(async () => ({
  default: (await import("@/features/servers/servers-panel")).ServersPanel,
}));
export const ToolsPanel = lazy(async () => ({
  default: (await import("@/features/tools/tools-panel")).ToolsPanel,
}));
export const SettingsSheet = lazy(async () => ({
  default: (await import("@/features/account/settings-sheet")).SettingsSheet,
}));

export const SharedPage = lazy(async () => ({
  default: (await import("@/features/share/shared-page")).SharedPage,
}));

/** Nothing has happened yet at the first paint that a toast could tell. */
export const Toaster = lazy(async () => ({ default: (await import("@/ui/toaster")).Toaster }));
