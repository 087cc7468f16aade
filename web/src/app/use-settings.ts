import { useRef } from "react";
import { useSearchParams } from "wouter";

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
