/** Id of the button that opens the settings and gets the focus back. */
export const settingsButtonId = "settings";

/** Returns the number of history steps in the settings that closing them has to undo. They are in the history's state. */
export function settingsSteps(): number {
  const state = history.state as { settingsSteps?: number } | null;
  return state?.settingsSteps ?? 0;
}
