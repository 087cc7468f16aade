import { useMutation } from "@tanstack/react-query";
import { Monitor, Moon, Sun } from "lucide-react";
import { type ReactNode, useState } from "react";
import { t } from "@/lib/later-texts";
import { type Theme, themes, useTheme } from "@/lib/theme";
import { toastFailure } from "@/ui/toast";
import { chooseLanguage, languageChoices, readLanguageChoice } from "./language-choice";
import { Section } from "./section";

interface Choice<Value extends string> {
  readonly value: Value;
  readonly label: string;
  /** Language of the label, if it is not the page's. */
  readonly lang?: string;
  readonly icon?: ReactNode;
}

interface ChoiceSectionProps<Value extends string> {
  /** Name of the radio buttons. */
  name: string;
  title: string;
  choices: readonly Choice<Value>[];
  chosen: Value;
  onChoose: (value: Value) => void;
}

/** Section with a row of choices, one of which is selected. */
function ChoiceSection<Value extends string>({
  name,
  title,
  choices,
  chosen,
  onChoose,
}: ChoiceSectionProps<Value>) {
  return (
    <Section
      title={title}
      foot={
        <fieldset className="flex gap-0.5 justify-self-start rounded-[12px] bg-sunken p-[3px]">
          <legend className="sr-only">{title}</legend>
          {choices.map(({ value, label, lang, icon }) => (
            <label
              key={value}
              lang={lang}
              className="relative inline-flex h-8 items-center gap-2 rounded-[9px] px-3.5 text-md font-medium text-ink-2 transition-colors duration-150 hover:text-ink has-checked:bg-surface has-checked:text-ink has-checked:shadow-raised has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent touch:h-11 [&_svg]:size-4"
            >
              <input
                type="radio"
                name={name}
                value={value}
                checked={value === chosen}
                onChange={() => onChoose(value)}
                className="absolute inset-0 size-full appearance-none rounded-[9px] outline-none"
              />
              {icon}
              {label}
            </label>
          ))}
        </fieldset>
      }
    />
  );
}

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

/** Language setting: one of the page's languages, or the browser's. */
export function LanguageSection() {
  const [chosen, setChosen] = useState(readLanguageChoice);
  const change = useMutation({
    mutationFn: chooseLanguage,
    onError: (error) => {
      setChosen(readLanguageChoice());
      toastFailure(t("account.language.failed"), error);
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
