import type { ReactNode } from "react";
import { Button, buttonClass } from "@/ui/button";
import { Popover, useClosePopover } from "@/ui/popover";

interface ConfirmButtonProps {
  /** What the button shows. */
  trigger: ReactNode;
  /** Names the button when it shows no words. */
  label?: string;
  /** Whether it has a border; else it is as quiet as an icon. */
  outlined?: boolean;
  /** Asked before anything happens. */
  question: string;
  /** What the button that does it says. */
  confirm: string;
  onConfirm: () => void;
}

/** A button that asks once more, right beside it. */
export function ConfirmButton({ trigger, label, outlined = false, ...ask }: ConfirmButtonProps) {
  return (
    <Popover
      trigger={trigger}
      {...(label !== undefined && { triggerLabel: label })}
      triggerClassName={buttonClass({ variant: outlined ? "line" : "quiet", size: "sm" })}
      label={ask.question}
      className="w-[min(280px,calc(100vw-40px))] p-3.5"
    >
      <ConfirmQuestion {...ask} />
    </Popover>
  );
}

function ConfirmQuestion({
  question,
  confirm,
  onConfirm,
}: Pick<ConfirmButtonProps, "question" | "confirm" | "onConfirm">) {
  const close = useClosePopover();
  return (
    <>
      <p className="text-sm wrap-anywhere">{question}</p>
      <Button
        variant="danger"
        size="sm"
        className="mt-2.5 border-line-strong!"
        onClick={() => {
          close();
          onConfirm();
        }}
      >
        {confirm}
      </Button>
    </>
  );
}
