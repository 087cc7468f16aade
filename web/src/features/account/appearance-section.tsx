import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { t } from "@/lib/later-texts";
import { themes, useTheme } from "@/lib/theme";
import { toastFailure } from "@/ui/toast";
import { ChoiceRow } from "./choice-row";
import { chooseLanguage, languageChoices, readLanguageChoice } from "./language-choice";

/** How the page looks in this browser. */
export function AppearanceSection() {
  return (
    <div className="divide-y divide-line border-y border-line max-wide:-mt-4 max-wide:border-t-0">
      <ThemeRow />
      <LanguageRow />
    </div>
  );
}

/** Theme: light, dark, or the system's. */
function ThemeRow() {
  const [chosen, choose] = useTheme();
  return (
    <ChoiceRow
      name="theme"
      title={t("appearance.theme")}
      about={t("appearance.theme.about")}
      choices={themes.map((theme) => ({ value: theme, label: t(`account.theme.${theme}`) }))}
      chosen={chosen}
      onChoose={choose}
    />
  );
}

/** Language: one of the page's, or the browser's. */
function LanguageRow() {
  const [chosen, setChosen] = useState(readLanguageChoice);
  const change = useMutation({
    mutationFn: chooseLanguage,
    onError: (error) => {
      setChosen(readLanguageChoice());
      toastFailure(t("account.language.failed"), error);
    },
  });
  return (
    <ChoiceRow
      name="language"
      title={t("account.language")}
      about={t("account.language.about")}
      choices={languageChoices.map((choice) => ({
        value: choice,
        label: t(`account.language.${choice}`),
        // Languages have their own names, and screen readers pronounce them so.
        ...(choice !== "system" && { lang: choice }),
      }))}
      chosen={chosen}
      onChoose={(choice) => {
        setChosen(choice);
        change.mutate(choice);
      }}
    />
  );
}
