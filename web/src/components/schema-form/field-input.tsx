import { Plus, X } from "lucide-react";
import { type ReactNode, useId } from "react";
import { t } from "@/lib/later-texts";
import { Button, IconButton } from "@/ui/button";
import { Field as LabelledField } from "@/ui/field";
import { type Draft, initialDraft } from "./draft";
import type { Field, GroupField, ListField, ManyField } from "./field-model";
import { type FieldErrors, pathOf } from "./read-value";
import { TextualInput } from "./textual-input";

interface FieldInputProps {
  field: Field;
  /** Path of the field: names and indices, joined by dots. */
  path: string;
  draft: Draft;
  errors: FieldErrors;
  onChange: (draft: Draft) => void;
}

/** Input for a field of any kind. */
export function FieldInput({ field, path, draft, errors, onChange }: FieldInputProps) {
  if (field.kind === "group" || field.kind === "list" || field.kind === "many") {
    return (
      <Nested field={field} error={errors.get(path)}>
        {field.kind === "many" && (
          <ManyInput field={field} draft={draft} invalid={errors.has(path)} onChange={onChange} />
        )}
        {field.kind === "group" && (
          <GroupInputs field={field} path={path} draft={draft} errors={errors} onChange={onChange} />
        )}
        {field.kind === "list" && (
          <ListInput field={field} path={path} draft={draft} errors={errors} onChange={onChange} />
        )}
      </Nested>
    );
  }
  if (field.kind === "boolean" && typeof draft === "boolean") {
    return <Tick field={field} checked={draft} onChange={onChange} />;
  }
  return (
    <LabelledField label={<FieldLabel field={field} />} hint={field.description} error={errors.get(path)}>
      {(ids) => (
        <TextualInput
          ids={ids}
          field={field}
          text={typeof draft === "string" ? draft : ""}
          onChange={onChange}
        />
      )}
    </LabelledField>
  );
}

interface NestedProps {
  field: Field;
  error: string | undefined;
  children: ReactNode;
}

/** List or object inside the form, indented by a line. */
function Nested({ field, error, children }: NestedProps) {
  const id = useId();
  return (
    <div
      role="group"
      aria-labelledby={id}
      aria-describedby={error === undefined ? undefined : `${id}-error`}
      className="min-w-0 border-l-2 border-line pl-4 text-md"
    >
      <p id={id} className="font-medium">
        <FieldLabel field={field} />
      </p>
      {error !== undefined && (
        <p id={`${id}-error`} role="alert" className="text-sm text-err">
          {error}
        </p>
      )}
      {field.description !== undefined && <p className="text-sm text-ink-2">{field.description}</p>}
      <div className="mt-2.5">{children}</div>
    </div>
  );
}

function FieldLabel({ field }: { field: Field }) {
  return (
    <>
      <span className="wrap-anywhere">{field.label}</span>{" "}
      {field.required && field.name !== "" && (
        <span className="ml-0.5 font-normal text-ink-2">{t("form.required")}</span>
      )}
    </>
  );
}

interface TickProps {
  field: Field;
  checked: boolean;
  onChange: (draft: Draft) => void;
}

function Tick({ field, checked, onChange }: TickProps) {
  return (
    <label className="grid grid-cols-[auto_1fr] items-center gap-x-2.5 text-md font-medium touch:min-h-11">
      <input
        type="checkbox"
        checked={checked}
        onChange={(event) => onChange(event.target.checked)}
        className="size-[18px] accent-accent touch:h-11"
      />
      {field.label}
      {field.description !== undefined && (
        <span className="col-start-2 text-sm font-normal text-ink-2">{field.description}</span>
      )}
    </label>
  );
}

interface GroupInputsProps {
  field: GroupField;
  path: string;
  draft: Draft;
  errors: FieldErrors;
  onChange: (draft: Draft) => void;
}

/** Inputs of an object, one below the other. */
export function GroupInputs({ field, path, draft, errors, onChange }: GroupInputsProps) {
  const parts = isGroupDraft(draft) ? draft : {};
  return (
    <div className="grid gap-[18px]">
      {field.fields.map((child) => (
        <FieldInput
          key={child.name}
          field={child}
          path={pathOf(path, child.name)}
          draft={parts[child.name] ?? ""}
          errors={errors}
          onChange={(next) => onChange({ ...parts, [child.name]: next })}
        />
      ))}
    </div>
  );
}

function isGroupDraft(draft: Draft): draft is { readonly [name: string]: Draft } {
  return typeof draft === "object" && !Array.isArray(draft);
}

interface ManyInputProps {
  field: ManyField;
  draft: Draft;
  invalid: boolean;
  onChange: (draft: Draft) => void;
}

/** Checkbox for each option. */
function ManyInput({ field, draft, invalid, onChange }: ManyInputProps) {
  const chosen: readonly Draft[] = Array.isArray(draft) ? draft : [];
  return (
    <div className="grid gap-1.5">
      {field.options.map((option, index) => (
        <label
          key={option}
          className="grid grid-cols-[auto_1fr] items-center gap-x-2.5 wrap-anywhere touch:min-h-11"
        >
          <input
            type="checkbox"
            checked={chosen.includes(option)}
            aria-invalid={invalid || undefined}
            onChange={(event) =>
              onChange(event.target.checked ? [...chosen, option] : chosen.filter((one) => one !== option))
            }
            className="size-[18px] accent-accent touch:h-11"
          />
          {field.titles[index] ?? option}
        </label>
      ))}
    </div>
  );
}

interface ListInputProps {
  field: ListField;
  path: string;
  draft: Draft;
  errors: FieldErrors;
  onChange: (draft: Draft) => void;
}

function ListInput({ field, path, draft, errors, onChange }: ListInputProps) {
  const items: readonly Draft[] = Array.isArray(draft) ? draft : [];
  return (
    <div className="grid gap-3">
      {items.map((item, index) => (
        // Items have no identity and their inputs no state, so the index is a sufficient key.
        <div key={index} className="grid grid-cols-[minmax(0,1fr)_auto] items-end gap-2">
          <FieldInput
            field={{ ...field.item, label: t("form.items", { n: index + 1 }) }}
            path={pathOf(path, index)}
            draft={item}
            errors={errors}
            onChange={(next) => onChange(items.with(index, next))}
          />
          <IconButton
            label={t("form.removeItem", { n: index + 1 })}
            icon={<X />}
            onClick={() => onChange(items.toSpliced(index, 1))}
          />
        </div>
      ))}
      <Button
        size="sm"
        className="justify-self-start"
        onClick={() => onChange([...items, initialDraft(field.item)])}
      >
        <Plus aria-hidden="true" />
        {t("form.addItem")}
      </Button>
    </div>
  );
}
