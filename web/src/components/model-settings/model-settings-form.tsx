import { useState } from "react";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { Field, Select, Textarea, TextField } from "@/ui/field";
import { Form, SubmitButton } from "@/ui/form";
import { type Draft, draftOf, efforts, type ModelSettings, settingsOf } from "./settings";

interface ModelSettingsFormProps {
  settings: ModelSettings;
  /** Values that apply if these are empty; shown as placeholders. */
  defaults?: ModelSettings;
  busy: boolean;
  error?: string | undefined;
  onSave: (settings: ModelSettings) => void;
}

/** Form for instructions and parameters of models. */
export function ModelSettingsForm({ settings, defaults, busy, error, onSave }: ModelSettingsFormProps) {
  const [draft, setDraft] = useState(() => draftOf(settings));
  const inherited = draftOf(defaults ?? {});
  const set = (name: keyof Draft, value: string) => setDraft({ ...draft, [name]: value });
  const hint = (name: keyof Draft) => inherited[name] || t("models.settings.own");
  const isEmpty = Object.values(draft).every((value) => value === "");

  function number(name: "maxTokens" | "temperature" | "topP", limits: object) {
    return (
      <TextField
        label={t(`models.settings.${name}`)}
        className="min-w-0"
        type="number"
        inputMode="decimal"
        autoComplete="off"
        {...limits}
        placeholder={hint(name)}
        value={draft[name]}
        onChange={(value) => set(name, value)}
      />
    );
  }

  return (
    <Form className="grid gap-3" busy={busy} onSend={() => onSave(settingsOf(draft))}>
      <Field label={t("models.settings.system")} hint={t("models.settings.system.hint")} error={error}>
        {(ids) => (
          <Textarea
            {...ids}
            className="max-h-48 min-h-16 overflow-y-auto text-md"
            maxLength={20_000}
            placeholder={inherited.system}
            value={draft.system}
            onChange={(event) => set("system", event.target.value)}
          />
        )}
      </Field>
      <div className="grid grid-cols-[repeat(auto-fit,minmax(8.5rem,1fr))] gap-3">
        {number("temperature", { min: 0, max: 2, step: "any" })}
        {number("topP", { min: 0.01, max: 1, step: "any" })}
        {number("maxTokens", { min: 1, max: 1_000_000, step: 1 })}
        <Field label={t("models.settings.effort")} className="min-w-0">
          {(ids) => (
            <Select {...ids} value={draft.effort} onChange={(event) => set("effort", event.target.value)}>
              <option value="">
                {inherited.effort === ""
                  ? t("models.settings.own")
                  : t(`models.effort.${defaults?.effort ?? "low"}`)}
              </option>
              {efforts.map((effort) => (
                <option key={effort} value={effort}>
                  {t(`models.effort.${effort}`)}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
      <p className="text-sm text-ink-2">{t("models.settings.hint")}</p>
      <div className="flex flex-wrap gap-2">
        <SubmitButton busy={busy}>{t("models.settings.save")}</SubmitButton>
        <Button
          disabled={busy || isEmpty}
          onClick={() => {
            setDraft(draftOf({}));
            onSave({});
          }}
        >
          {t("models.settings.reset")}
        </Button>
      </div>
    </Form>
  );
}
