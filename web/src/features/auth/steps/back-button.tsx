import { ArrowLeft } from "lucide-react";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import type { StepProps } from "../auth-step";

/** Button back to the two forms. */
export function BackButton({ onStep }: Pick<StepProps, "onStep">) {
  return (
    <Button variant="quiet" className="-mb-2 w-full" onClick={() => onStep({ kind: "welcome" })}>
      <ArrowLeft aria-hidden="true" />
      {t("account.back")}
    </Button>
  );
}
