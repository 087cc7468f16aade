import type { ComponentProps } from "react";
import { t } from "@/lib/t";
import { TextField } from "@/ui/field";

/** Minimum length that the server accepts. */
const MIN_PASSWORD_CHARS = 6;

interface PasswordFieldProps extends Pick<
  ComponentProps<typeof TextField>,
  "label" | "error" | "ref" | "value" | "onChange"
> {
  /** Only a new password is checked for its length. */
  kind: "new" | "current";
}

export function PasswordField({ kind, ...rest }: PasswordFieldProps) {
  return (
    <TextField
      name={`${kind}-password`}
      type="password"
      autoComplete={`${kind}-password`}
      placeholder={kind === "new" ? t("auth.newPasswordPlaceholder") : undefined}
      minLength={kind === "new" ? MIN_PASSWORD_CHARS : undefined}
      required
      inputClassName="max-phone:placeholder:text-md"
      {...rest}
    />
  );
}
