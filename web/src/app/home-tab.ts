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
