import { ArrowLeft } from "lucide-react";
import type { ReactNode } from "react";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { focusNow } from "@/ui/focus";
import type { StepProps } from "../auth-step";

interface StepHeadProps {
  title: string;
  /** Focuses the heading, because the step has no field. */
  focus?: boolean;
  children: ReactNode;
}

/** Title and description of a step. */
export function StepHead({ title, focus = false, children }: StepHeadProps) {
  return (
    <div className="mb-5">
      <h1 ref={focus ? focusNow : undefined} tabIndex={-1} className="rounded-sm text-xl outline-none">
        {title}
      </h1>
      <p className="mt-1 text-ink-2 wrap-anywhere">{children}</p>
    </div>
  );
}

/** Button back to the two forms. */
export function BackButton({ onStep }: Pick<StepProps, "onStep">) {
  return (
    <Button variant="quiet" className="-mb-2 w-full" onClick={() => onStep({ kind: "welcome" })}>
      <ArrowLeft aria-hidden="true" />
      {t("account.back")}
    </Button>
  );
}
