import { useSearchParams } from "wouter";

/** What can be open in the settings, as the address names it. */
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

/** The part whose form is open, kept in the address, so that a reload keeps it too. */
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
