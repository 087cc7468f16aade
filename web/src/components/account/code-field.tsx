import type { Ref } from "react";
import { t } from "@/lib/later-texts";
import { Field, Input } from "@/ui/field";

interface CodeFieldProps {
  label: string;
  value: string;
  onChange: (digits: string) => void;
  error?: string | undefined;
  hint?: string;
  ref?: Ref<HTMLInputElement>;
}

/** Field for a six-digit code, pasted or grouped in any way. */
export function CodeField({ label, value, onChange, error, hint, ref }: CodeFieldProps) {
  return (
    <Field label={label} error={error} hint={hint}>
      {(ids) => (
        <Input
          {...ids}
          ref={ref}
          name="code"
          inputMode="numeric"
          autoComplete="one-time-code"
          pattern="[0-9]{6}"
          title={t("account.code.form")}
          required
          value={value}
          onChange={(event) => onChange(digitsOf(event.target.value))}
          className="font-mono tracking-[0.25em]"
        />
      )}
    </Field>
  );
}

/** Returns the first six digits of a text. */
function digitsOf(text: string): string {
  return text.replaceAll(/\D/gu, "").slice(0, 6);
}
