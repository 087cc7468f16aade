import type { Ref } from "react";
import { t } from "@/lib/t";
import { Field, Input } from "@/ui/field";

/** Minimum length that the server accepts. */
const MIN_PASSWORD_CHARS = 6;

interface PasswordFieldProps {
  label: string;
  /** Only a new password is checked for its length. */
  kind: "new" | "current";
  value: string;
  onChange: (value: string) => void;
  error?: string | undefined;
  ref?: Ref<HTMLInputElement>;
}

export function PasswordField({ label, kind, value, onChange, error, ref }: PasswordFieldProps) {
  return (
    <Field label={label} error={error}>
      {(ids) => (
        <Input
          {...ids}
          ref={ref}
          name={`${kind}-password`}
          type="password"
          autoComplete={`${kind}-password`}
          placeholder={kind === "new" ? t("auth.newPasswordPlaceholder") : undefined}
          minLength={kind === "new" ? MIN_PASSWORD_CHARS : undefined}
          required
          value={value}
          onChange={(event) => onChange(event.target.value)}
          className="max-phone:placeholder:text-md"
        />
      )}
    </Field>
  );
}
