import type { ComponentProps, Ref } from "react";
import { Field, Input } from "./field";

interface EmailFieldProps extends Pick<ComponentProps<typeof Field>, "label" | "hint" | "error"> {
  value: string;
  onChange: (value: string) => void;
  ref?: Ref<HTMLInputElement> | undefined;
}

/** Field for the user's own email address. */
export function EmailField({ value, onChange, ref, ...field }: EmailFieldProps) {
  return (
    <Field {...field}>
      {(ids) => (
        <Input
          {...ids}
          ref={ref}
          name="email"
          type="email"
          autoComplete="email"
          required
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}
