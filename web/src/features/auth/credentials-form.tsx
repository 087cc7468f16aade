import { type FormEvent, useState } from "react";
import { t } from "@/lib/t";
import { Button } from "@/ui/button";
import { Field, Input } from "@/ui/field";
import type { Credentials } from "./credentials";

interface CredentialsFormProps {
  credentials: Credentials;
  onChange: (credentials: Credentials) => void;
  submit: (credentials: Credentials) => Promise<void>;
  submitLabel: string;
  passwordAutoComplete: "current-password" | "new-password";
  passwordPlaceholder?: string;
  passwordMinLength?: number;
}

/** E-mail and password, both required; the browser checks them before anything is sent. */
export function CredentialsForm({ credentials, onChange, ...props }: CredentialsFormProps) {
  const [busy, setBusy] = useState(false);

  async function send(event: FormEvent): Promise<void> {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    await props.submit(credentials);
    setBusy(false);
  }

  return (
    <form className="grid gap-4" onSubmit={(event) => void send(event)}>
      <Field label={t("auth.email")}>
        {(ids) => (
          <Input
            {...ids}
            name="email"
            type="email"
            autoComplete="email"
            required
            value={credentials.email}
            onChange={(event) => onChange({ ...credentials, email: event.target.value })}
          />
        )}
      </Field>
      <Field label={t("auth.password")}>
        {(ids) => (
          <Input
            {...ids}
            name="password"
            type="password"
            autoComplete={props.passwordAutoComplete}
            placeholder={props.passwordPlaceholder}
            minLength={props.passwordMinLength}
            required
            value={credentials.password}
            onChange={(event) => onChange({ ...credentials, password: event.target.value })}
            className="max-phone:placeholder:text-md"
          />
        )}
      </Field>
      <Button variant="primary" type="submit" disabled={busy} busy={busy} className="mt-1 w-full">
        {props.submitLabel}
      </Button>
    </form>
  );
}
