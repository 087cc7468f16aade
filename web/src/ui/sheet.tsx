import { X } from "lucide-react";
import { type MouseEvent, type ReactNode, useEffect, useId, useRef } from "react";
import { cn } from "@/lib/cn";
import { t } from "@/lib/t";
import { IconButton } from "./button";
import { hostToasts } from "./toast";

interface SheetProps {
  title: ReactNode;
  subtitle?: ReactNode;
  footer?: ReactNode;
  onClose: () => void;
  children: ReactNode;
}

/**
 * A modal panel at the right edge, over the whole width on a phone. It is open while it is mounted;
 * the native dialog keeps the focus inside and gives it back.
 */
export function Sheet({ title, subtitle, footer, onClose, children }: SheetProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const titleId = useId();
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    hostToasts(element);
    const stop = focusFirstField(body.current);
    return () => {
      stop();
      hostToasts(null);
    };
  }, []);
  // Every way out goes through the dialog's own close, which puts the focus back before it reports.
  const close = () => dialog.current?.close();
  function onClick(event: MouseEvent) {
    if (event.target === dialog.current) close();
  }
  return (
    // The click is only the backdrop's; keyboards close with Escape, which the dialog handles itself.
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      onClose={onClose}
      onClick={onClick}
      className={cn(
        "fixed inset-y-0 right-0 left-auto m-0 h-dvh max-h-none w-[min(480px,100vw)] max-w-none border-l border-line bg-surface shadow-float max-wide:border-l-0",
        "animate-enter-side backdrop:bg-scrim",
      )}
    >
      <div className="grid h-full grid-cols-[minmax(0,1fr)] grid-rows-[auto_minmax(0,1fr)_auto]">
        <header className="flex items-start gap-3 border-b border-line px-5 py-[18px]">
          <div className="min-w-0 flex-1">
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
 * Moves the focus into the sheet's first field, if that is the first thing in it that can be used: who opens a form wants to
 * fill it in. What is still loading is awaited until the user has moved on. Returns a function that ends the waiting.
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
