import { useEffect, useRef } from "react";
import { t } from "@/lib/later-texts";
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

/**
 * Inputs for a form model. The caller holds the draft, reads the value and decides when to send it; errors appear at
 * their fields, and the first such field takes the focus.
 */
export function SchemaForm({ form, draft, errors, onChange }: SchemaFormProps) {
  const inputs = useRef<HTMLDivElement>(null);
  const told = useRef(errors);
  useEffect(() => {
    if (told.current === errors) return;
    told.current = errors;
    inputs.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [errors]);
  return (
    <div ref={inputs} className="contents">
      {form.kind === "group" ? (
        <GroupInputs field={form} path="" draft={draft} errors={errors} onChange={onChange} />
      ) : (
        <FieldInput
          field={{ ...form, label: t("form.json") }}
          path=""
          draft={draft}
          errors={errors}
          onChange={onChange}
        />
      )}
    </div>
  );
}
