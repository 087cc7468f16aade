import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import type { StepProps } from "../auth-step";
import { StepHead } from "./step-head";

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
