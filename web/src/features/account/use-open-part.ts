import { useSearchParams } from "wouter";

/** Names of the forms in the settings, as in the URL. */
export const settingsParts = [
  "name",
  "email",
  "password",
  "two-step",
  "model-provider",
  "model-settings",
  "api-key",
  "delete",
] as const;

export type SettingsPart = (typeof settingsParts)[number];

/**
 * Returns the open form in the settings and a function to change it. It is in the URL, so that a reload restores it.
 */
export function useOpenPart(): [SettingsPart | undefined, (part: SettingsPart | undefined) => void] {
  const [params, setParams] = useSearchParams();
  const named = params.get("settings");
  const open = settingsParts.find((part) => part === named);
  function choose(part: SettingsPart | undefined): void {
    setParams(
      (current) => {
        const changed = new URLSearchParams(current);
        changed.set("settings", part ?? "");
        return changed;
      },
      { replace: true },
    );
  }
  return [open, choose];
}
