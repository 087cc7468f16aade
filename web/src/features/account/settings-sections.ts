/** Sections of the settings in the order of their navigation, named as in the URL. */
export const settingsSections = [
  "account",
  "security",
  "appearance",
  "notifications",
  "models",
  "providers",
  "usage",
  "tools",
  "data",
  "api-keys",
] as const;

export type SettingsSection = (typeof settingsSections)[number];
