import { useSyncExternalStore } from "react";

let isOutdated = false;
const listeners = new Set<() => void>();

/** Returns true if the server is known to have a newer version of the page. */
export function usePageIsOutdated(): boolean {
  return useSyncExternalStore(subscribe, () => isOutdated);
}

/**
 * Checks whether the server still has this version of the page. The entry script is named by a hash of the whole page,
 * and the server has only the files of its own version: an older page cannot load its missing parts any more.
 *
 * Returns true if the server answers and has this version.
 */
export async function checkPageVersion(): Promise<boolean> {
  const entry = document.querySelector<HTMLScriptElement>("script[type=module][src]")?.getAttribute("src");
  if (isOutdated || entry === null || entry === undefined) return false;
  try {
    const response = await fetch("/", { cache: "no-store" });
    if (!response.ok) return false;
    if ((await response.text()).includes(entry)) return true;
  } catch {
    // Without a response nothing is known.
    return false;
  }
  isOutdated = true;
  for (const listener of listeners) listener();
  return false;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
