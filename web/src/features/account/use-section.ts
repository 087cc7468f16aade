import { useSearchParams } from "wouter";
import { settingsButtonId, settingsSteps } from "@/lib/settings-steps";
import { type SettingsSection, settingsSections } from "./settings-sections";

interface SectionNavigation {
  /** Section in the URL; undefined at the start of the settings. */
  readonly section: SettingsSection | undefined;
  /** Returns the link to a section. */
  readonly linkTo: (section: SettingsSection) => string;
  readonly goTo: (section: SettingsSection) => void;
  /** Leaves the section for the start of the settings. */
  readonly goToStart: () => void;
}

/** Returns the section of the settings in the URL and functions to change it. Each section is a step of the history. */
export function useSection(): SectionNavigation {
  const [params, setParams] = useSearchParams();
  const named = params.get("settings");
  const section = settingsSections.find((one) => one === named);

  function paramsOf(next: string): URLSearchParams {
    const changed = new URLSearchParams(params);
    changed.set("settings", next);
    changed.delete("form");
    return changed;
  }

  function goTo(next: SettingsSection): void {
    if (next === section) return;
    setParams(paramsOf(next), {
      state: { settingsSteps: settingsSteps() + 1, isFromStart: section === undefined },
    });
  }

  function goToStart(): void {
    const state = history.state as { isFromStart?: boolean } | null;
    if (state?.isFromStart === true) history.back();
    else setParams(paramsOf(""), { replace: true, state });
  }

  return { section, linkTo: (next) => `?${paramsOf(next)}`, goTo, goToStart };
}

/** Closes the settings: undoes all of their steps in the history and returns the focus. */
export function closeSettings(): void {
  const steps = settingsSteps();
  if (steps === 0) removeParams();
  else {
    // A further step would make the back button open the settings again.
    history.go(-steps);
    // The way back ends in the settings if a link opened them.
    addEventListener("popstate", removeParams, { once: true });
  }
  // After a reload the dialog knows no element to return the focus to.
  document.getElementById(settingsButtonId)?.focus();
}

/** Removes the settings from the URL, without a step of the history. */
function removeParams(): void {
  const url = new URL(location.href);
  if (!url.searchParams.has("settings")) return;
  url.searchParams.delete("settings");
  url.searchParams.delete("form");
  history.replaceState(null, "", url);
}
