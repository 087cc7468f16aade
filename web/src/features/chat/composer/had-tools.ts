import { forgetAfter } from "@/lib/user-data";

const STORAGE_KEY = "had-tools";

/** Returns true if the user had tools when the page was last open in this browser. */
export function hadTools(): boolean {
  try {
    return localStorage.getItem(STORAGE_KEY) !== null;
  } catch {
    return false;
  }
}

/** Remembers for the next time whether the user has tools. */
export function rememberTools(hasTools: boolean): void {
  try {
    if (hasTools) localStorage.setItem(STORAGE_KEY, "");
    else localStorage.removeItem(STORAGE_KEY);
  } catch {
    // Without storage the row comes when the tools are known.
  }
}

forgetAfter("user", () => rememberTools(false));
