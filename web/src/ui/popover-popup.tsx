import { Popover } from "@base-ui/react/popover";
import type { ReactNode, RefObject } from "react";
import { cn } from "@/lib/cn";
import { dialogAround, floatingClass, floatingPlace, settleChange } from "./floating";

interface PopoverPopupProps {
  anchor: RefObject<HTMLButtonElement | null>;
  open: boolean;
  onOpenChange: (open: boolean) => void;
  label: string;
  side: "top" | "bottom";
  align: "start" | "end";
  className: string | undefined;
  children: ReactNode;
}

/** Floating part of a {@link Popover}. */
export function PopoverPopup({
  anchor,
  open,
  onOpenChange,
  label,
  side,
  align,
  className,
  children,
}: PopoverPopupProps) {
  return (
    <Popover.Root
      open={open}
      onOpenChange={(next, details) => {
        if (settleChange(anchor, details)) onOpenChange(next);
      }}
    >
      <Popover.Portal container={dialogAround(anchor)}>
        <Popover.Positioner {...floatingPlace} anchor={anchor} side={side} align={align}>
          <Popover.Popup
            aria-label={label}
            finalFocus={anchor}
            className={cn(
              floatingClass,
              "max-h-[min(70dvh,var(--available-height))] max-w-(--available-width)",
              className,
            )}
          >
            {children}
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}
