import { type ReactNode, useId } from "react";
import { cn } from "@/lib/cn";

interface PopoverProps {
  /** Names the trigger for others who open it. */
  id?: string;
  /** Told when it opens and when it closes. */
  onToggle?: (open: boolean) => void;
  /** What opens the popover: a button's content and its look. */
  trigger: ReactNode;
  triggerClassName: string;
  /** Names the trigger when its content does not. */
  triggerLabel?: string;
  label: string;
  className?: string;
  children: ReactNode;
}

/**
 * A button and what it opens, on the platform's popover: light dismissal, Escape and the way back of
 * the focus are the browser's, and nothing is loaded for it.
 */
export function Popover({
  id: triggerId,
  onToggle,
  trigger,
  triggerClassName,
  triggerLabel,
  label,
  className,
  children,
}: PopoverProps) {
  const id = useId();
  return (
    <>
      <button
        id={triggerId}
        type="button"
        popoverTarget={id}
        aria-haspopup="dialog"
        aria-label={triggerLabel}
        className={triggerClassName}
      >
        {trigger}
      </button>
      <div
        id={id}
        popover="auto"
        role="dialog"
        aria-label={label}
        onToggle={(event) => onToggle?.(event.newState === "open")}
        className={cn(
          "m-0 my-1.5 max-h-[70dvh] overflow-auto rounded-lg border border-line bg-surface p-1.5 shadow-float open:animate-enter max-phone:mx-2.5",
          "[position-area:bottom_span-left] [position-try-fallbacks:flip-block,flip-inline]",
          className,
        )}
      >
        {children}
      </div>
    </>
  );
}

/** Closes the popover around an element, for contents that act and then go away. */
export function closePopover(inside: Element): void {
  inside.closest<HTMLElement>("[popover]")?.hidePopover();
}
