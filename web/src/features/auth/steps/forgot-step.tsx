import { type FormEvent, useState } from "react";
import { focusNow } from "@/account-parts/focus-now";
import { ResendButton } from "@/account-parts/resend-button";
import { t } from "@/lib/account-text";
import { authErrorWords } from "@/lib/auth-error-words";
import { useMutation } from "@/lib/query/use-mutation";
import { auth } from "@/lib/session";
import { t as common } from "@/lib/t";
import { Button } from "@/ui/button";
import { Field, Input } from "@/ui/field";
import type { StepProps } from "../auth-step";
import { BackButton } from "./back-button";
import { StepHead } from "./step-head";

/** Asks for a link to a new password. What follows is the same whether or not there is such an account. */
export function ForgotStep({ email, onEmail, onStep }: StepProps) {
  const [sentTo, setSentTo] = useState<string>();
  const send = (address: string) =>
    auth.resetPasswordForEmail(address, { redirectTo: `${location.origin}/auth` });
  const ask = useMutation({
    mutationFn: async () => (await send(email)).error,
    onSuccess: (error) => {
      if (error === null) setSentTo(email);
    },
  });

  if (sentTo !== undefined) {
    return (
      <>
        <StepHead title={t("account.mail.check")} focus>
          {t("account.forgot.sent", { email: sentTo })}
        </StepHead>
        <div className="grid gap-2">
          <ResendButton send={() => send(sentTo)} mailed className="w-full" />
          <BackButton onStep={onStep} />
        </div>
      </>
    );
  }

  function submit(event: FormEvent): void {
    event.preventDefault();
    if (!ask.isPending) ask.mutate();
  }
  return (
    <>
      <StepHead title={t("account.forgot.title")}>{t("account.forgot.text")}</StepHead>
      <form className="grid gap-4" onSubmit={submit}>
        <Field label={common("auth.email")} error={ask.data ? authErrorWords(ask.data) : undefined}>
          {(ids) => (
            <Input
              {...ids}
              ref={focusNow}
              name="email"
              type="email"
              autoComplete="email"
              required
              value={email}
              onChange={(event) => onEmail(event.target.value)}
            />
          )}
        </Field>
        <Button variant="primary" type="submit" disabled={ask.isPending} busy={ask.isPending}>
          {t("account.forgot.send")}
        </Button>
        <BackButton onStep={onStep} />
      </form>
    </>
  );
}
