import { useSearchParams } from "wouter";

/** The button that opens the settings, and gets the focus back. */
export const settingsButtonId = "settings";

/** Whether the settings are open, kept in the address, and a way to open and close them. */
export function useSettings(): [boolean, (open: boolean) => void] {
  const [params, setParams] = useSearchParams();
  function change(open: boolean): void {
    setParams((current) => {
      const changed = new URLSearchParams(current);
      if (open) changed.set("settings", "");
      else changed.delete("settings");
      return changed;
    });
    // After a reload the dialog has nothing to give the focus back to.
    if (!open) document.getElementById(settingsButtonId)?.focus();
  }
  return [params.has("settings"), change];
}
