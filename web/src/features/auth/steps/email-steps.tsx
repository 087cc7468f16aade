import { ResendButton } from "@/components/account/resend-button";
import { boot } from "@/lib/boot";
import { t } from "@/lib/later-texts";
import { auth } from "@/lib/session";
import { Button } from "@/ui/button";
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

/**
 * Step after a link was opened in another browser than the one that requested it: it has only confirmed the address.
 */
export function ConfirmedStep({ onStep }: StepProps) {
  return (
    <>
      <StepHead title={t("account.confirmed.title")} focus>
        {t("account.confirmed.text")}
      </StepHead>
      <Button variant="primary" className="w-full" onClick={() => onStep({ kind: "welcome" })}>
        {t("auth.signIn")}
      </Button>
    </>
  );
}

/** Step after opening a used or expired email link, whose purpose is unknown. */
export function LinkFailedStep({ onStep }: StepProps) {
  return (
    <>
      <StepHead title={t("account.link.failed")} focus>
        {t("account.link.failed.text")}
      </StepHead>
      <div className="grid gap-2">
        {boot.mail && (
          <Button variant="primary" onClick={() => onStep({ kind: "forgot" })}>
            {t("account.link.newPassword")}
          </Button>
        )}
        <BackButton onStep={onStep} />
      </div>
    </>
  );
}

/** Step after a link for a new password was opened in another browser than the one that requested it. */
export function LinkElsewhereStep({ onStep }: StepProps) {
  return (
    <>
      <StepHead title={t("account.link.elsewhere")} focus>
        {t("account.link.elsewhere.text")}
      </StepHead>
      <div className="grid gap-2">
        <Button variant="primary" onClick={() => onStep({ kind: "forgot" })}>
          {t("account.link.newPassword")}
        </Button>
        <BackButton onStep={onStep} />
      </div>
    </>
  );
}
