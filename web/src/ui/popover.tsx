import { createContext, type ReactNode, Suspense, use, useCallback, useRef, useState } from "react";
import { lazyPart } from "@/lib/lazy-part";

const loadPopup = () => import("./popover-popup");
const PopoverPopup = lazyPart(async () => (await loadPopup()).PopoverPopup);

interface PopoverProps {
  /** Id of the trigger, for code that opens the popover from elsewhere. */
  id?: string;
  /** Content of the button that opens the popover. */
  trigger: ReactNode;
  triggerClassName: string;
  /** Names the trigger when its content does not. */
  triggerLabel?: string;
  label: string;
  /** Side of the trigger on which there should be room; the opposite one is taken when there is none. */
  side?: "top" | "bottom";
  /** Edge of the trigger with which the popover is aligned. */
  align?: "start" | "end";
  className?: string;
  /** Rendered only while the popover is open. */
  children: ReactNode;
}

const Close = createContext<() => void>(() => undefined);

/** Returns the function that closes the popover around a component, for contents that act and then go away. */
export function useClosePopover(): () => void {
  return use(Close);
}

/** A button and the popover that it opens. Base UI, which places it and looks after the focus, is loaded on first use. */
export function Popover({
  id,
  trigger,
  triggerClassName,
  triggerLabel,
  label,
  side = "bottom",
  align = "end",
  className,
  children,
}: PopoverProps) {
  const button = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  // Once shown it stays mounted, so that closing can give the focus back.
  const [isMounted, setMounted] = useState(false);
  const close = useCallback(() => setOpen(false), []);
  const preload = () => void loadPopup().catch(() => undefined);
  return (
    <>
      <button
        ref={button}
        id={id}
        type="button"
        aria-haspopup="dialog"
        aria-expanded={open}
        aria-label={triggerLabel}
        className={triggerClassName}
        onPointerEnter={preload}
        onFocus={preload}
        onClick={() => {
          setMounted(true);
          setOpen(!open);
        }}
      >
        {trigger}
      </button>
      {isMounted && (
        <Suspense>
          <PopoverPopup
            anchor={button}
            open={open}
            onOpenChange={setOpen}
            label={label}
            side={side}
            align={align}
            className={className}
          >
            <Close value={close}>{children}</Close>
          </PopoverPopup>
        </Suspense>
      )}
    </>
  );
}
