import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import type { StepProps } from "../auth-step";
import { BackButton, StepHead } from "./step-head";

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
