import type { ComponentProps, FormEvent } from "react";
import { Button } from "./button";

interface FormProps extends Omit<ComponentProps<"form">, "onSubmit"> {
  /** True while the form is being sent or is incomplete. */
  busy: boolean;
  onSend: () => void;
}

/** Form that is sent by script, once at a time, after the browser has validated its fields. */
export function Form({ busy, onSend, ...rest }: FormProps) {
  function submit(event: FormEvent): void {
    event.preventDefault();
    if (!busy) onSend();
  }
  return <form onSubmit={submit} {...rest} />;
}

/** Submit button with a busy state. */
export function SubmitButton({ busy = false, disabled = false, ...rest }: ComponentProps<typeof Button>) {
  return <Button variant="primary" type="submit" disabled={disabled || busy} busy={busy} {...rest} />;
}
