import type { ComponentProps } from "react";
import { t } from "@/lib/later-texts";
import { TextField } from "@/ui/field";

type RecoveryCodeFieldProps = Pick<ComponentProps<typeof TextField>, "error" | "ref" | "value" | "onChange">;

/** Field for a recovery code, typed in any way. */
export function RecoveryCodeField(props: RecoveryCodeFieldProps) {
  return (
    <TextField
      label={t("account.recoveryCode.label")}
      hint={t("account.recoveryCode.hint")}
      name="recovery-code"
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
      required
      inputClassName="font-mono"
      {...props}
    />
  );
}
