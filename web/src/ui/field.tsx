import { ChevronDown } from "lucide-react";
import { type ComponentProps, type ReactNode, type RefObject, useId, useLayoutEffect, useRef } from "react";
import { cn } from "@/lib/cn";

const box =
  "w-full rounded-md border border-line-strong bg-surface px-3 transition-colors duration-150 " +
  "hover:border-ink-3 focus-visible:border-accent focus-visible:outline-offset-0 disabled:opacity-60 aria-invalid:border-err";

/** Attributes that connect a control to its label, hint and error. */
export interface FieldIds {
  id: string;
  "aria-describedby"?: string;
  "aria-invalid"?: true;
}

interface FieldProps {
  label: ReactNode;
  hint?: ReactNode;
  error?: string | undefined;
  className?: string;
  children: (ids: FieldIds) => ReactNode;
}

/** Label above a control, with an optional hint and error below it. */
export function Field({ label, hint, error, className, children }: FieldProps) {
  const id = useId();
  const described = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(
    Boolean,
  );
  const ids: FieldIds = {
    id,
    ...(described.length > 0 && { "aria-describedby": described.join(" ") }),
    ...(error !== undefined && { "aria-invalid": true }),
  };
  return (
    <div className={cn("grid content-start gap-1.5", className)}>
      <label id={`${id}-label`} htmlFor={id} className="justify-self-start text-md font-medium">
        {label}
      </label>
      {children(ids)}
      {error !== undefined && (
        <p id={`${id}-error`} role="alert" className="text-sm text-err">
          {error}
        </p>
      )}
      {hint !== undefined && (
        <p id={`${id}-hint`} className="text-sm text-ink-2">
          {hint}
        </p>
      )}
    </div>
  );
}

export function Input({ className, ...rest }: ComponentProps<"input">) {
  return <input className={cn(box, "h-10 touch:h-11", className)} {...rest} />;
}

interface TextFieldProps
  extends
    Omit<ComponentProps<"input">, "className" | "onChange" | "value">,
    Pick<FieldProps, "label" | "hint" | "error" | "className"> {
  value: string;
  onChange: (value: string) => void;
  inputClassName?: string;
}

/** Single-line text field with its label, hint and error. */
export function TextField({
  label,
  hint,
  error,
  className,
  inputClassName,
  onChange,
  ...rest
}: TextFieldProps) {
  return (
    <Field {...{ label, hint, error }} {...(className !== undefined && { className })}>
      {(ids) => (
        <Input
          {...ids}
          className={inputClassName}
          onChange={(event) => onChange(event.target.value)}
          {...rest}
        />
      )}
    </Field>
  );
}

/** Field for the user's own email address. */
export function EmailField(
  props: Pick<TextFieldProps, "label" | "hint" | "error" | "ref" | "value" | "onChange">,
) {
  return <TextField name="email" type="email" autoComplete="email" required {...props} />;
}

interface CheckboxProps {
  label: ReactNode;
  checked: boolean;
  onChange: (checked: boolean) => void;
  className?: string;
}

/** Checkbox with its label. */
export function Checkbox({ label, checked, onChange, className }: CheckboxProps) {
  return (
    <label className={cn("flex items-center gap-2.5 touch:min-h-11", className)}>
      <input
        type="checkbox"
        className="size-[18px] shrink-0 accent-accent touch:h-11"
        checked={checked}
        onChange={(event) => onChange(event.target.checked)}
      />
      {label}
    </label>
  );
}

/** Multi-line text field that grows with its text; the caller sets the minimum height. */
export function Textarea({
  className,
  ...rest
}: Omit<ComponentProps<"textarea">, "ref"> & { ref?: RefObject<HTMLTextAreaElement | null> | undefined }) {
  const own = useRef<HTMLTextAreaElement>(null);
  const field = rest.ref ?? own;
  useLayoutEffect(() => growWithText(field.current));
  return (
    <textarea
      dir="auto"
      className={cn(box, "field-sizing-content resize-none py-2", className)}
      {...rest}
      ref={field}
    />
  );
}

export function Select({ className, ...rest }: ComponentProps<"select">) {
  return (
    <span className="relative block">
      <select className={cn(box, "h-10 appearance-none pr-9 touch:h-11", className)} {...rest} />
      <ChevronDown
        aria-hidden="true"
        className="pointer-events-none absolute top-1/2 right-3 size-4 -translate-y-1/2"
      />
    </span>
  );
}

/** Fits the height of a text field to its text in browsers without `field-sizing`. */
export function growWithText(field: HTMLTextAreaElement | null): void {
  if (!field || CSS.supports("field-sizing", "content")) return;
  field.style.height = "0";
  const borders = field.offsetHeight - field.clientHeight;
  field.style.height = `${field.scrollHeight + borders}px`;
}
