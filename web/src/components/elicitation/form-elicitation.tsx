import { useState } from "react";
import { initialDraft } from "@/components/schema-form/draft";
import type { GroupField } from "@/components/schema-form/field-model";
import { type FieldErrors, readValue } from "@/components/schema-form/read-value";
import { SchemaForm } from "@/components/schema-form/schema-form";
import { Button } from "@/ui/button";
import type { Respond } from "./elicitation";
import { t } from "@/lib/later-texts";
import { withFormats } from "./formats";

interface FormElicitationProps {
  form: GroupField;
  server: string;
  busy: boolean;
  respond: Respond;
}

/** Form of a server, filled with its defaults. It is validated before it is sent, and sent by its button only. */
export function FormElicitation({ form, server, busy, respond }: FormElicitationProps) {
  const [draft, setDraft] = useState(() => initialDraft(form));
  const [errors, setErrors] = useState<FieldErrors>(new Map());

  function send(): void {
    const reading = withFormats(form, readValue(form, draft));
    setErrors(reading.errors);
    if (reading.errors.size === 0) respond("accept", reading.value);
  }

  return (
    <>
      {form.fields.length > 0 && <SchemaForm form={form} draft={draft} errors={errors} onChange={setDraft} />}
      <p className="text-sm text-ink-2 wrap-anywhere">{t("elicitation.form.about", { server })}</p>
      <div className="flex flex-wrap gap-2">
        <Button size="sm" aria-disabled={busy} onClick={send}>
          {t("elicitation.form.send")}
        </Button>
        <Button size="sm" variant="danger" aria-disabled={busy} onClick={() => respond("decline")}>
          {t("elicitation.decline")}
        </Button>
        <Button size="sm" variant="quiet" aria-disabled={busy} onClick={() => respond("cancel")}>
          {t("elicitation.cancel")}
        </Button>
      </div>
    </>
  );
}
