import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ModelSettingsForm } from "@/components/model-settings/model-settings-form";
import { t } from "@/lib/later-texts";
import type { SignedInUser } from "@/lib/session";
import { Field, Select } from "@/ui/field";
import { toast } from "@/ui/toast";
import { ChoiceRow } from "../choice-row";
import { DictationRow } from "./dictation-row";
import { FailedRow, LoadingRow } from "../load-state";
import { defaultsQuery, listedQuery, modelsKey, saveModelDefaults } from "../queries";
import { Section } from "../section";
import { SettingRow } from "../setting-row";

/** What the title of a chat is made from. */
const titleSources = ["message", "model"] as const;
type TitleSource = (typeof titleSources)[number];

/** Settings of all chats without settings of their own. */
export function ModelDefaultsSection({ user }: { user: SignedInUser }) {
  const client = useQueryClient();
  const query = defaultsQuery(user.id);
  const { data, error } = useQuery(query);
  const { data: listed } = useQuery(listedQuery(user.id));
  const save = useMutation({
    mutationFn: saveModelDefaults,
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: query.queryKey });
      await client.invalidateQueries({ queryKey: modelsKey });
      toast({ title: t("models.settings.saved"), tone: "ok" });
    },
  });
  // While it is saved, the choice shows already.
  const proposesTitles = (save.isPending ? save.variables : data)?.proposeTitles === true;
  const chosenTitles: TitleSource = proposesTitles ? "model" : "message";
  const models = listed?.models.filter(({ id, available }) => available && !id.endsWith("/")) ?? [];
  return (
    <Section about={t("models.defaults.about")}>
      {data === undefined ? (
        error ? (
          <FailedRow queryKey={query.queryKey} />
        ) : (
          <LoadingRow />
        )
      ) : (
        <>
          <Field label={t("models.defaults.model")} error={save.error?.message} className="px-4 py-3">
            {(ids) => (
              <Select
                {...ids}
                disabled={save.isPending}
                value={data.model ?? ""}
                onChange={(event) => save.mutate({ ...data, model: event.target.value || null })}
              >
                <option value="">{t("models.defaults.none")}</option>
                {data.model !== null && !models.some(({ id }) => id === data.model) && (
                  <option value={data.model}>{data.model}</option>
                )}
                {models.map(({ id, name, provider, providerName }) => (
                  <option key={id} value={id}>{`${providerName ?? provider}: ${name}`}</option>
                ))}
              </Select>
            )}
          </Field>
          <div className="divide-y divide-line px-4">
            <ChoiceRow
              name="titles"
              title={t("models.titles")}
              about={t("models.titles.about")}
              choices={titleSources.map((source) => ({ value: source, label: t(`models.titles.${source}`) }))}
              chosen={chosenTitles}
              onChoose={(source) => save.mutate({ ...data, proposeTitles: source === "model" })}
            />
            <DictationRow model={listed?.transcription} />
          </div>
          <SettingRow
            part="model-settings"
            label={t("models.defaults.settings")}
            action={t("account.change")}
          >
            {() => (
              <ModelSettingsForm
                settings={data.settings}
                busy={save.isPending}
                onSave={(settings) => save.mutate({ ...data, settings })}
              />
            )}
          </SettingRow>
        </>
      )}
    </Section>
  );
}
