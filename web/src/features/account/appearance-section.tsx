import { useMutation } from "@tanstack/react-query";
import { t } from "@/lib/later-texts";
import { modKey } from "@/lib/mod-key";
import { type Preferences, preferences, usePreference } from "@/lib/preferences";
import { useMedia } from "@/lib/use-media";
import { toastFailure } from "@/ui/toast";
import { ChoiceRow } from "./choice-row";
import { chooseLanguage, languageChoices, readLanguageChoice } from "./language-choice";

/** Choices of the look of the page and of its keys, for this browser. */
export function AppearanceSection() {
  const isTouch = useMedia("(pointer: coarse)");
  return (
    <div className="divide-y divide-line border-y border-line max-wide:-mt-4 max-wide:border-t-0">
      <PreferenceRow
        name="theme"
        title={t("appearance.theme")}
        about={t("appearance.theme.about")}
        labelOf={(theme) => t(`account.theme.${theme}`)}
      />
      <PreferenceRow
        name="textSize"
        title={t("appearance.textSize")}
        about={t("appearance.textSize.about")}
        labelOf={(size) => size}
      />
      <PreferenceRow
        name="density"
        title={t("appearance.density")}
        about={t("appearance.density.about")}
        labelOf={(density) => t(`appearance.density.${density}`)}
      />
      {/* Touch keyboards have one Enter key, which starts a new line. */}
      {!isTouch && (
        <PreferenceRow
          name="sendWith"
          title={t("appearance.sendWith")}
          about={t("appearance.sendWith.about")}
          labelOf={(key) =>
            key === "enter" ? t("appearance.sendWith.enter") : t("appearance.sendWith.mod", { mod: modKey })
          }
        />
      )}
      <LanguageRow />
    </div>
  );
}

interface PreferenceRowProps<Name extends keyof Preferences> {
  name: Name;
  title: string;
  about: string;
  labelOf: (value: Preferences[Name]) => string;
}

/** Row of a preference of this browser. */
function PreferenceRow<Name extends keyof Preferences>({
  name,
  title,
  about,
  labelOf,
}: PreferenceRowProps<Name>) {
  const [chosen, choose] = usePreference(name);
  return (
    <ChoiceRow
      name={name}
      title={title}
      about={about}
      choices={preferences[name].map((value) => ({ value, label: labelOf(value) }))}
      chosen={chosen}
      onChoose={choose}
    />
  );
}

/** Language: one of the page's, or the browser's. */
function LanguageRow() {
  const change = useMutation({
    mutationFn: chooseLanguage,
    onError: (error) => toastFailure(t("account.language.failed"), error),
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
      chosen={change.isPending ? change.variables : readLanguageChoice()}
      onChoose={change.mutate}
    />
  );
}
