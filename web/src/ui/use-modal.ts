import { type MouseEvent, type RefObject, useEffect, useRef } from "react";
import { hostToasts } from "./toast";

interface Modal {
  /** Properties of the dialog element. */
  readonly dialogProps: {
    readonly ref: RefObject<HTMLDialogElement | null>;
    readonly onClick: (event: MouseEvent) => void;
  };
  /** Closes the dialog and restores the focus, before the dialog's `close` event. */
  readonly close: () => void;
}

/**
 * Opens a native dialog for as long as the component is mounted. It traps and restores the focus, shows the toasts, and
 * closes by Escape and by its backdrop.
 */
export function useModal(): Modal {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    hostToasts(element);
    return () => hostToasts(null);
  }, []);
  const close = () => dialog.current?.close();
  return {
    dialogProps: {
      ref: dialog,
      // Clicks count only on the backdrop; the dialog handles Escape itself.
      onClick: (event) => {
        if (event.target === dialog.current) close();
      },
    },
    close,
  };
}
