import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { ResendButton } from "@/components/account/resend-button";
import { authErrorMessage } from "@/lib/auth-error-message";
import { t } from "@/lib/later-texts";
import { auth } from "@/lib/session";
import { EmailField } from "@/ui/field";
import { focusNow } from "@/ui/focus";
import { Form, SubmitButton } from "@/ui/form";
import type { StepProps } from "../auth-step";
import { MailedCodeForm } from "./mailed-code-form";
import { BackButton, StepHead } from "./step-head";

/** Step that requests a link for a new password. The response is the same whether or not the account exists. */
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
        <MailedCodeForm email={sentTo} type="recovery" />
        <div className="mt-2 grid gap-2">
          <ResendButton send={() => send(sentTo)} mailed className="w-full" />
          <BackButton onStep={onStep} />
        </div>
      </>
    );
  }

  return (
    <>
      <StepHead title={t("account.forgot.title")}>{t("account.forgot.text")}</StepHead>
      <Form className="grid gap-4" busy={ask.isPending} onSend={() => ask.mutate()}>
        <EmailField
          ref={focusNow}
          label={t("auth.email")}
          value={email}
          onChange={onEmail}
          error={ask.data ? authErrorMessage(ask.data) : undefined}
        />
        <SubmitButton busy={ask.isPending}>{t("account.forgot.send")}</SubmitButton>
        <BackButton onStep={onStep} />
      </Form>
    </>
  );
}
