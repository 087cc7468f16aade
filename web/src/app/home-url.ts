import { useSearchParams } from "wouter";
import { settingsSteps } from "@/lib/settings-steps";

export type HomeTab = "chat" | "servers" | "tools";

/** Connects the tab list in the header to its panels. */
export const homeTabsId = "home";

/**
 * Returns the tab in the URL, so that a reload and the back button restore it. Chat is the default and has no
 * parameter.
 */
export function useHomeTab(): [HomeTab, (tab: HomeTab) => void] {
  const [params, setParams] = useSearchParams();
  const named = params.get("tab");
  const tab = named === "servers" || named === "tools" ? named : "chat";
  function select(next: HomeTab): void {
    if (next === tab) return;
    setParams((current) => {
      const changed = new URLSearchParams(current);
      if (next === "chat") changed.delete("tab");
      else changed.set("tab", next);
      return changed;
    });
  }
  return [tab, select];
}

interface SettingsState {
  readonly isOpen: boolean;
  /** Opens the settings, at a section or at their start. */
  readonly open: (section?: string) => void;
}

/** Returns whether the settings are open, as the URL says, and a function to open them. */
export function useSettings(): SettingsState {
  const [params, setParams] = useSearchParams();
  function open(section = ""): void {
    setParams(
      (current) => {
        const changed = new URLSearchParams(current);
        changed.set("settings", section);
        return changed;
      },
      { state: { settingsSteps: settingsSteps() + 1 } },
    );
  }
  return { isOpen: params.has("settings"), open };
}
