import { useRef } from "react";
import { useSearchParams } from "wouter";

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

/** Id of the button that opens the settings and gets the focus back. */
export const settingsButtonId = "settings";

/** Returns whether the settings are open, as the URL says, and a function to open and close them. */
export function useSettings(): [boolean, (open: boolean) => void] {
  const [params, setParams] = useSearchParams();
  /** True if the settings were opened by a history step of this page, which can be undone. */
  const isOwnStep = useRef(false);
  function change(open: boolean): void {
    if (open) isOwnStep.current = true;
    else if (isOwnStep.current) {
      // Closing goes back in the history; a further step would make the back button open the settings again.
      isOwnStep.current = false;
      history.back();
      document.getElementById(settingsButtonId)?.focus();
      return;
    }
    setParams(
      (current) => {
        const changed = new URLSearchParams(current);
        if (open) changed.set("settings", "");
        else changed.delete("settings");
        return changed;
      },
      { replace: !open },
    );
    // After a reload the dialog knows no element to return the focus to.
    if (!open) document.getElementById(settingsButtonId)?.focus();
  }
  return [params.has("settings"), change];
}
