import type { ReactNode } from "react";
import { focusNow } from "@/components/account/focus-now";

interface StepHeadProps {
  title: string;
  /** Whether the focus belongs here, because there is no field to begin with. */
  focus?: boolean;
  children: ReactNode;
}

/** What a step is called, and what it wants. */
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
