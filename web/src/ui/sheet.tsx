import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";
import { cn } from "@/lib/cn";
import { t } from "@/lib/t";
import { IconButton } from "./button";
import { gripClass, useDragToClose } from "./drag-to-close";
import { useModal } from "./use-modal";

interface SheetProps {
  title: ReactNode;
  subtitle?: ReactNode;
  footer?: ReactNode;
  onClose: () => void;
  children: ReactNode;
}

/**
 * Modal panel at the right edge; on phones at the bottom, where its header can be dragged down to close it. It is open
 * while mounted; the native dialog traps and restores the focus.
 */
export function Sheet({ title, subtitle, footer, onClose, children }: SheetProps) {
  const { dialogProps, close } = useModal();
  const body = useRef<HTMLDivElement>(null);
  const titleId = useId();
  useEffect(() => focusFirstField(body.current), []);
  const drag = useDragToClose(dialogProps.ref, close);
  return (
    <dialog
      {...dialogProps}
      aria-labelledby={titleId}
      onClose={onClose}
      className={cn(
        "fixed inset-y-0 right-0 left-auto m-0 h-dvh max-h-none w-[min(480px,100vw)] max-w-none border-l border-line bg-surface shadow-float",
        "max-wide:top-auto max-wide:h-auto max-wide:max-h-[calc(100dvh-var(--safe-top)-12px)] max-wide:w-full max-wide:rounded-t-[18px] max-wide:border-l-0",
        "animate-enter-side backdrop:bg-scrim max-wide:open:flex max-wide:animate-enter-below",
      )}
    >
      <div className="grid h-full min-h-0 w-full grid-cols-[minmax(0,1fr)] grid-rows-[auto_minmax(0,1fr)_auto] pt-(--safe-top) pr-(--safe-right) pb-(--safe-bottom) max-wide:h-auto max-wide:pt-0 max-wide:pl-(--safe-left)">
        <header
          {...drag}
          className={cn("relative flex items-start gap-3 border-b border-line px-5 py-[18px]", gripClass)}
        >
          <div className="min-w-0 flex-1 self-center">
            <h2 id={titleId} className="wrap-anywhere">
              {title}
            </h2>
            {subtitle !== undefined && <p className="text-sm wrap-anywhere text-ink-2">{subtitle}</p>}
          </div>
          <IconButton label={t("ui.close")} icon={<X />} size="sm" onClick={close} />
        </header>
        {/* Positioned, so that what is hidden from sight in it scrolls along instead of making the dialog longer. */}
        <div
          ref={body}
          className="relative grid grid-cols-[minmax(0,1fr)] content-start gap-[18px] overflow-auto p-5"
        >
          {children}
        </div>
        {footer !== undefined && (
          <footer className="flex flex-wrap gap-2 border-t border-line px-5 py-3.5">{footer}</footer>
        )}
      </div>
    </dialog>
  );
}

const CONTROLS = "a[href], button, input, textarea, select, summary, [tabindex='0']";
const FIELDS = "input:not([type=checkbox], [type=radio]), textarea, select";

/**
 * Focuses the sheet's first field if it is the first control, because a form is opened to fill it in. Waits for loading
 * content until the user has moved the focus. The result ends the waiting.
 */
function focusFirstField(body: HTMLElement | null): () => void {
  if (!body) return () => undefined;
  const start = document.activeElement;
  const tryNow = (): boolean => {
    if (document.activeElement !== start) return true;
    const first = [...body.querySelectorAll<HTMLElement>(CONTROLS)].find(
      (one) => !one.matches(":disabled") && one.checkVisibility(),
    );
    if (first?.matches(FIELDS) === true) first.focus();
    return first !== undefined;
  };
  if (tryNow()) return () => undefined;
  const observer = new MutationObserver(() => tryNow() && observer.disconnect());
  observer.observe(body, { childList: true, subtree: true });
  return () => observer.disconnect();
}
