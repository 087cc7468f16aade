import { Monitor, Moon, Sun } from "lucide-react";
import { t } from "@/lib/account-text";
import { type Theme, themes, useTheme } from "@/lib/theme";
import { Section } from "./section";

const icons: Record<Theme, typeof Sun> = { system: Monitor, light: Sun, dark: Moon };

/** Theme setting: light, dark, or the system's. */
export function AppearanceSection() {
  const [chosen, choose] = useTheme();
  return (
    <Section
      title={t("account.appearance")}
      foot={
        <fieldset className="flex gap-0.5 justify-self-start rounded-[12px] bg-sunken p-[3px]">
          <legend className="sr-only">{t("account.appearance")}</legend>
          {themes.map((theme) => {
            const Icon = icons[theme];
            return (
              <label
                key={theme}
                className="relative inline-flex h-8 items-center gap-2 rounded-[9px] px-3.5 text-md font-medium text-ink-2 transition-colors duration-150 hover:text-ink has-checked:bg-surface has-checked:text-ink has-checked:shadow-raised has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent touch:h-11 [&_svg]:size-4"
              >
                <input
                  type="radio"
                  name="theme"
                  value={theme}
                  checked={theme === chosen}
                  onChange={() => choose(theme)}
                  className="absolute inset-0 size-full appearance-none rounded-[9px] outline-none"
                />
                <Icon aria-hidden="true" />
                {t(`account.theme.${theme}`)}
              </label>
            );
          })}
        </fieldset>
      }
    />
  );
}
