import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { t } from "@/lib/later-texts";
import { toast } from "@/ui/toast";
import { ChoiceSection } from "./choice-section";
import { chooseLanguage, languageChoices, readLanguageChoice } from "./language-choice";

/** Language setting: one of the page's languages, or the browser's. */
export function LanguageSection() {
  const [chosen, setChosen] = useState(readLanguageChoice);
  const change = useMutation({
    mutationFn: chooseLanguage,
    onError: (error) => {
      setChosen(readLanguageChoice());
      toast({ title: t("account.language.failed"), description: error.message, tone: "err" });
    },
  });
  return (
    <ChoiceSection
      name="language"
      title={t("account.language")}
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
