import { t } from "@/lib/later-texts";
import { showInvisible } from "@/lib/show-invisible";
import { type FieldIds, Input, Select, Textarea } from "@/ui/field";
import type { ChoiceField, Field, NumberField, TextField } from "./field-model";

interface TextualInputProps {
  ids: FieldIds;
  field: Field;
  text: string;
  onChange: (draft: string) => void;
}

/** Input for a field whose draft is text. */
export function TextualInput({ ids, field, text, onChange }: TextualInputProps) {
  const control = { ...ids, value: text, "aria-required": field.required } as const;
  const change = (event: { target: { value: string } }) => onChange(event.target.value);
  switch (field.kind) {
    case "choice":
      return (
        <Select {...control} onChange={change} className="text-md">
          <ChoiceOptions field={field} />
        </Select>
      );
    case "boolean":
      return (
        <Select {...control} onChange={change} className="text-md">
          <option value="">{t("form.notSet")}</option>
          <option value="true">{t("form.true")}</option>
          <option value="false">{t("form.false")}</option>
        </Select>
      );
    case "number":
      return (
        <Input
          {...control}
          onChange={change}
          inputMode={numericKeyboard(field)}
          className="font-mono text-md"
        />
      );
    case "text":
      return <SingleOrMultiline field={field} control={control} change={change} />;
    default:
      return (
        <Textarea {...control} onChange={change} spellCheck={false} className="min-h-20 font-mono text-md" />
      );
  }
}

function ChoiceOptions({ field }: { field: ChoiceField }) {
  return (
    <>
      <option value="">{t("form.notSet")}</option>
      {field.options.map((option, index) => (
        <option key={JSON.stringify(option)} value={String(index)}>
          {showInvisible(
            field.titles?.[index] ?? (typeof option === "string" ? option : JSON.stringify(option)),
          )}
        </option>
      ))}
    </>
  );
}

/** Returns the keyboard for a number; purely numeric ones lack the minus and the exponent. */
function numericKeyboard(field: NumberField): "numeric" | "decimal" | "text" {
  if (field.minimum === undefined || field.minimum < 0) return "text";
  return field.integer ? "numeric" : "decimal";
}

interface SingleOrMultilineProps {
  field: TextField;
  control: FieldIds & { value: string };
  change: (event: { target: { value: string } }) => void;
}

/** Formats with a single-line input; any other text may have several lines. */
const inputTypes: Readonly<Record<string, string>> = {
  date: "date",
  email: "email",
  uri: "url",
  url: "url",
  password: "password",
};

function SingleOrMultiline({ field, control, change }: SingleOrMultilineProps) {
  const type = inputTypes[field.format ?? ""];
  if (type !== undefined || field.format !== undefined) {
    return (
      <Input
        {...control}
        onChange={change}
        type={type ?? "text"}
        spellCheck={false}
        className="font-mono text-md"
      />
    );
  }
  return (
    <Textarea
      {...control}
      onChange={change}
      rows={1}
      spellCheck={false}
      className="min-h-10 font-mono text-md leading-[22px] touch:min-h-11"
    />
  );
}
