import { ResendButton } from "@/components/account/resend-button";
import { t } from "@/lib/later-texts";
import { auth } from "@/lib/session";
import type { StepProps } from "../auth-step";
import { MailedCodeForm } from "./mailed-code-form";
import { BackButton, StepHead } from "./step-head";

/** Step for an account whose email address is not confirmed. */
export function UnconfirmedStep({ email, mailed, onStep }: StepProps & { mailed: boolean }) {
  const send = () => auth.resend({ type: "signup", email, options: { emailRedirectTo: location.origin } });
  return (
    <>
      <StepHead title={t("account.mail.check")} focus>
        {t(mailed ? "account.unconfirmed.sent" : "account.unconfirmed.earlier", { email })}
      </StepHead>
      <MailedCodeForm email={email} type="signup" />
      <div className="mt-2 grid gap-2">
        <ResendButton send={send} mailed={mailed} className="w-full" />
        <BackButton onStep={onStep} />
      </div>
    </>
  );
}
