import { Eye, EyeOff } from "lucide-react";
import { type FormEvent, useState } from "react";
import { t } from "@/lib/t";
import { Button, IconButton } from "@/ui/button";
import { Field, Input } from "@/ui/field";
import type { Credentials } from "./credentials";

interface CredentialsFormProps {
  action: (credentials: Credentials) => Promise<void>;
  submitLabel: string;
  passwordAutoComplete: "current-password" | "new-password";
  passwordPlaceholder?: string;
  passwordMinLength?: number;
}

/** E-mail and password, both required; the browser checks them before anything is sent. */
export function CredentialsForm(props: CredentialsFormProps) {
  const [busy, setBusy] = useState(false);
  const [shown, setShown] = useState(false);

  async function submit(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    await props.action({ email: text(form, "email"), password: text(form, "password") });
    setBusy(false);
  }

  return (
    <form className="grid gap-4" onSubmit={(event) => void submit(event)}>
      <Field label={t("auth.email")}>
        {(ids) => (
          <Input {...ids} name="email" type="email" autoComplete="email" required spellCheck={false} />
        )}
      </Field>
      <Field label={t("auth.password")}>
        {(ids) => (
          <div className="relative">
            <Input
              {...ids}
              name="password"
              type={shown ? "text" : "password"}
              autoComplete={props.passwordAutoComplete}
              placeholder={props.passwordPlaceholder}
              minLength={props.passwordMinLength}
              required
              className="pr-11"
            />
            <IconButton
              label={shown ? t("auth.hidePassword") : t("auth.showPassword")}
              icon={shown ? <EyeOff /> : <Eye />}
              size="sm"
              onClick={() => setShown(!shown)}
              className="absolute top-[5px] right-[5px] touch:top-0 touch:right-0"
            />
          </div>
        )}
      </Field>
      <Button variant="primary" type="submit" disabled={busy} busy={busy} className="mt-1 h-[42px] w-full">
        {props.submitLabel}
      </Button>
    </form>
  );
}

function text(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value : "";
}
