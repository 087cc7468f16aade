import type { ComponentProps } from "react";
import { t } from "@/lib/later-texts";
import { TextField } from "@/ui/field";

type CodeFieldProps = Pick<
  ComponentProps<typeof TextField>,
  "label" | "hint" | "error" | "ref" | "value" | "onChange"
>;

/** Field for a six-digit code, pasted or grouped in any way. */
export function CodeField({ onChange, ...rest }: CodeFieldProps) {
  return (
    <TextField
      name="code"
      inputMode="numeric"
      autoComplete="one-time-code"
      pattern="[0-9]{6}"
      title={t("account.code.form")}
      required
      onChange={(text) => onChange(digitsOf(text))}
      inputClassName="font-mono tracking-[0.25em]"
      {...rest}
    />
  );
}

/** Returns the first six digits of a text. */
function digitsOf(text: string): string {
  return text.replaceAll(/\D/gu, "").slice(0, 6);
}
