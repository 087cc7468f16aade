import type { ReactNode } from "react";
import { cn } from "@/lib/cn";
import { Button, buttonClass } from "@/ui/button";
import { Popover, useClosePopover } from "@/ui/popover";

interface ConfirmButtonProps {
  /** Content of the button. */
  trigger: ReactNode;
  /** Label of a button without text. */
  label?: string;
  /** Draws a border; otherwise the button looks like an icon. */
  outlined?: boolean;
  /** Question before the action. */
  question: string;
  /** Label of the button that confirms. */
  confirm: string;
  onConfirm: () => void;
}

/** Button that asks for confirmation in a popover. */
export function ConfirmButton({ trigger, label, outlined = false, ...ask }: ConfirmButtonProps) {
  return (
    <Popover
      trigger={trigger}
      {...(label !== undefined && { triggerLabel: label })}
      triggerClassName={cn(
        buttonClass({ variant: outlined ? "line" : "quiet", size: "sm" }),
        "touch:min-w-11",
      )}
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
