import { boot } from "@/lib/boot";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import type { StepProps } from "../auth-step";
import { BackButton, StepHead } from "./step-head";

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
