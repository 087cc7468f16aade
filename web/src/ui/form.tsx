import type { ComponentProps, FormEvent } from "react";
import { Button } from "./button";

interface FormProps extends Omit<ComponentProps<"form">, "onSubmit"> {
  /** Whether it cannot be sent now, because it is on its way already or not complete yet. */
  busy: boolean;
  onSend: () => void;
}

/** A form that the page sends itself, once at a time. The browser checks its fields first. */
export function Form({ busy, onSend, ...rest }: FormProps) {
  function submit(event: FormEvent): void {
    event.preventDefault();
    if (!busy) onSend();
  }
  return <form onSubmit={submit} {...rest} />;
}

/** Sends the form it stands in, and shows that it is on its way. */
export function SubmitButton({ busy = false, disabled = false, ...rest }: ComponentProps<typeof Button>) {
  return <Button variant="primary" type="submit" disabled={disabled || busy} busy={busy} {...rest} />;
}
