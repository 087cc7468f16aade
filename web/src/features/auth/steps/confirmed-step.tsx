import { t } from "@/lib/account-text";
import { t as common } from "@/lib/t";
import { Button } from "@/ui/button";
import type { StepProps } from "../auth-step";
import { StepHead } from "./step-head";

/** A link was opened in another browser than the one that asked for it: it has confirmed the address, and no more. */
export function ConfirmedStep({ onStep }: StepProps) {
  return (
    <>
      <StepHead title={t("account.confirmed.title")} focus>
        {t("account.confirmed.text")}
      </StepHead>
      <Button variant="primary" className="w-full" onClick={() => onStep({ kind: "welcome" })}>
        {common("auth.signIn")}
      </Button>
    </>
  );
}
