import { Monitor, Moon, Sun } from "lucide-react";
import { t } from "@/lib/later-texts";
import { type Theme, themes, useTheme } from "@/lib/theme";
import { ChoiceSection } from "./choice-section";

const icons: Record<Theme, typeof Sun> = { system: Monitor, light: Sun, dark: Moon };

/** Theme setting: light, dark, or the system's. */
export function AppearanceSection() {
  const [chosen, choose] = useTheme();
  return (
    <ChoiceSection
      name="theme"
      title={t("account.appearance")}
      choices={themes.map((theme) => {
        const Icon = icons[theme];
        return { value: theme, label: t(`account.theme.${theme}`), icon: <Icon aria-hidden="true" /> };
      })}
      chosen={chosen}
      onChoose={choose}
    />
  );
}
