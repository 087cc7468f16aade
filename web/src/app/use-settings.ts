import { useRef } from "react";
import { useSearchParams } from "wouter";

/** The button that opens the settings, and gets the focus back. */
export const settingsButtonId = "settings";

/** Whether the settings are open, kept in the address, and a way to open and close them. */
export function useSettings(): [boolean, (open: boolean) => void] {
  const [params, setParams] = useSearchParams();
  /** Whether they were opened here, by a step of the history that can be taken back. */
  const isOwnStep = useRef(false);
  function change(open: boolean): void {
    if (open) isOwnStep.current = true;
    else if (isOwnStep.current) {
      // Closed again is where the page was before: another step would have Back open them once more.
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
    // After a reload the dialog has nothing to give the focus back to.
    if (!open) document.getElementById(settingsButtonId)?.focus();
  }
  return [params.has("settings"), change];
}
