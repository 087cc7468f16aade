import { useSearchParams } from "wouter";

export type HomeTab = "chat" | "servers" | "tools";

/** Ties the tab list in the header to the panels below it. */
export const homeTabsId = "home";

/** The tab in the URL, so that a reload and the back button keep the place. Chat is the default and stays unnamed. */
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
