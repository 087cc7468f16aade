import { useSyncExternalStore } from "react";

let isOutdated = false;
const listeners = new Set<() => void>();

/** Whether the server has a newer page than this one, as far as it has been asked. */
export function usePageIsOutdated(): boolean {
  return useSyncExternalStore(subscribe, () => isOutdated);
}

/**
 * Asks the server whether it still has this page. The entry script is named by a hash of the whole page, and the
 * server has only the files of its own version: what an older page has not loaded yet, it can never load.
 */
export async function checkPageVersion(): Promise<void> {
  const entry = document.querySelector<HTMLScriptElement>("script[type=module][src]")?.getAttribute("src");
  if (isOutdated || entry === null || entry === undefined) return;
  try {
    const response = await fetch("/", { cache: "no-store" });
    if (!response.ok || (await response.text()).includes(entry)) return;
  } catch {
    // Without an answer nothing is known.
    return;
  }
  isOutdated = true;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
