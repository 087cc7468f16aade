import { t } from "./form-text";
import type { Draft } from "./draft";
import { FieldInput, GroupInputs } from "./field-input";
import type { Field } from "./field-model";
import type { FieldErrors } from "./read-value";

interface SchemaFormProps {
  form: Field;
  draft: Draft;
  errors: FieldErrors;
  onChange: (draft: Draft) => void;
}

/** The inputs for a form model. The caller keeps the draft, reads the value and decides when to send it. */
export function SchemaForm({ form, draft, errors, onChange }: SchemaFormProps) {
  if (form.kind !== "group") {
    return (
      <FieldInput
        field={{ ...form, label: t("form.json") }}
        path=""
        draft={draft}
        errors={errors}
        onChange={onChange}
      />
    );
  }
  return <GroupInputs field={form} path="" draft={draft} errors={errors} onChange={onChange} />;
}
