import { type FormEvent, useState } from "react";
import { t } from "@/lib/t";
import { Button } from "@/ui/button";
import { EmailField, TextField } from "@/ui/field";
import type { AuthStep, StepProps } from "./auth-step";
import type { Credentials } from "./credentials";

interface CredentialsFormProps extends StepProps {
  password: string;
  onPassword: (password: string) => void;
  /** Submits the form; resolves to the next step unless that is the main screen. */
  submit: (credentials: Credentials) => Promise<AuthStep | undefined>;
  submitLabel: string;
  passwordAutoComplete: "current-password" | "new-password";
  passwordPlaceholder?: string;
  passwordMinLength?: number;
}

/** Email and password form, both required and validated by the browser. */
export function CredentialsForm({ email, onEmail, password, onPassword, ...props }: CredentialsFormProps) {
  const [busy, setBusy] = useState(false);

  async function send(event: FormEvent): Promise<void> {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    const next = await props.submit({ email, password });
    setBusy(false);
    if (next !== undefined) props.onStep(next);
  }

  return (
    <form className="grid gap-4" onSubmit={(event) => void send(event)}>
      <EmailField label={t("auth.email")} value={email} onChange={onEmail} />
      <TextField
        label={t("auth.password")}
        name="password"
        type="password"
        autoComplete={props.passwordAutoComplete}
        placeholder={props.passwordPlaceholder}
        minLength={props.passwordMinLength}
        required
        value={password}
        onChange={onPassword}
        inputClassName="max-phone:placeholder:text-md"
      />
      <Button variant="primary" type="submit" disabled={busy} busy={busy} className="mt-1 w-full">
        {props.submitLabel}
      </Button>
    </form>
  );
}
