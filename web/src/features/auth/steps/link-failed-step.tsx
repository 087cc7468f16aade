import { t } from "@/lib/account-text";
import { boot } from "@/lib/boot";
import { Button } from "@/ui/button";
import type { StepProps } from "../auth-step";
import { BackButton } from "./back-button";
import { StepHead } from "./step-head";

/** A mailed link was used before, or has run out; what it was for, only its reader knows. */
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
