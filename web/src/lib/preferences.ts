import { useSyncExternalStore } from "react";

/** Preferences of this browser. */
export interface Preferences {
  readonly theme: "system" | "light" | "dark";
  /** Size of the letters in answers and messages, in pixels unless the browser's letters have another size. */
  readonly textSize: "14" | "16" | "18" | "20";
  /** Space between messages. */
  readonly density: "comfortable" | "compact";
  /** Key that sends a message. */
  readonly sendWith: "enter" | "mod-enter";
}

/** The values of each preference. */
export const preferences: { readonly [Name in keyof Preferences]: readonly Preferences[Name][] } = {
  theme: ["system", "light", "dark"],
  textSize: ["14", "16", "18", "20"],
  density: ["comfortable", "compact"],
  sendWith: ["enter", "mod-enter"],
};

const defaults: Preferences = { theme: "system", textSize: "16", density: "comfortable", sendWith: "enter" };

const listeners = new Set<() => void>();

/**
 * Returns a preference and a function to change it. `public/before-paint.js` applies the stored ones before the first
 * paint, and what another tab changes.
 */
export function usePreference<Name extends keyof Preferences>(
  name: Name,
): [Preferences[Name], (value: Preferences[Name]) => void] {
  const value = useSyncExternalStore(subscribe, () => readPreference(name));
  return [value, (next) => setPreference(name, next)];
}

function readPreference<Name extends keyof Preferences>(name: Name): Preferences[Name] {
  const applied = document.documentElement.dataset[name];
  return preferences[name].find((value) => value === applied) ?? defaults[name];
}

/** Applies a preference and stores it in this browser. */
export function setPreference<Name extends keyof Preferences>(name: Name, value: Preferences[Name]): void {
  const { dataset } = document.documentElement;
  if (value === defaults[name]) delete dataset[name];
  else dataset[name] = value;
  try {
    localStorage.setItem(name, value);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    removeEventListener("storage", listener);
  };
}
