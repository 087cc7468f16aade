import type { McpUiHostContext, McpUiStyles } from "@modelcontextprotocol/ext-apps/app-bridge";
import { pageLocale } from "@/lib/language";
import { boot } from "@/lib/boot";
import { currentTheme } from "@/lib/page-theme";

/** Design tokens under the names of MCP Apps. They hold both themes; the app's `color-scheme` decides. */
const TOKENS: Readonly<Partial<Record<keyof McpUiStyles, string>>> = {
  "--color-background-primary": "--surface",
  "--color-background-secondary": "--sunken",
  "--color-background-tertiary": "--paper",
  "--color-background-inverse": "--ink",
  "--color-background-info": "--accent-soft",
  "--color-background-danger": "--err-soft",
  "--color-background-success": "--ok-soft",
  "--color-background-warning": "--warn-soft",
  "--color-text-primary": "--ink",
  "--color-text-secondary": "--ink-2",
  "--color-text-tertiary": "--ink-3",
  "--color-text-inverse": "--paper",
  "--color-text-info": "--accent",
  "--color-text-danger": "--err",
  "--color-text-success": "--ok",
  "--color-text-warning": "--warn",
  "--color-border-primary": "--line-strong",
  "--color-border-secondary": "--line",
  "--color-border-tertiary": "--line",
  "--color-ring-primary": "--accent",
};

/** Values without a token; an app cannot use the page's fonts. */
const PLAIN: Readonly<Partial<Record<keyof McpUiStyles, string>>> = {
  "--font-sans": "ui-sans-serif, system-ui, sans-serif",
  "--font-mono": "ui-monospace, monospace",
  "--border-radius-sm": "6px",
  "--border-radius-md": "10px",
  "--border-radius-lg": "14px",
  "--border-width-regular": "1px",
};

/** Returns the part of an app's host context that depends only on the page's style. */
export function hostContext(): McpUiHostContext {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const locale = pageLocale();
  return {
    theme: currentTheme(),
    styles: { variables: styleVariables() },
    availableDisplayModes: ["inline", "fullscreen"],
    locale: navigator.language || locale,
    timeZone,
    userAgent: `ai-chat-mcp/${boot.version}`,
    platform: "web",
    deviceCapabilities: {
      touch: matchMedia("(any-pointer: coarse)").matches,
      hover: matchMedia("(any-hover: hover)").matches,
    },
    safeAreaInsets: { top: 0, right: 0, bottom: 0, left: 0 },
  };
}

function styleVariables(): McpUiStyles {
  const style = getComputedStyle(document.documentElement);
  const ours = Object.entries(TOKENS).map(([name, token]) => [name, style.getPropertyValue(token).trim()]);
  return { ...Object.fromEntries(ours), ...PLAIN } as McpUiStyles;
}
