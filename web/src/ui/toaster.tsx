import { Check, CircleAlert, Info, TriangleAlert, X } from "lucide-react";
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { createPortal } from "react-dom";
import { cn } from "@/lib/cn";
import { t } from "@/lib/t";
import type { Tone } from "./badge";
import { Button, IconButton } from "./button";
import {
  actionLifetimeMs,
  dismissToast,
  readToastHost,
  readToasts,
  subscribeToasts,
  type Toast,
  toastLifetimeMs,
} from "./toast";

const icons: Record<Tone, typeof Check> = { ok: Check, err: CircleAlert, warn: TriangleAlert, neutral: Info };
const colours: Record<Tone, string> = {
  ok: "text-ok",
  err: "text-err",
  warn: "text-warn",
  neutral: "text-ink-2",
};

/** Shows the toasts, and has them read out. They cover nothing that is being used: see `place`. */
export function Toaster() {
  const toasts = useSyncExternalStore(subscribeToasts, readToasts);
  const host = useSyncExternalStore(subscribeToasts, readToastHost) ?? document.body;
  const region = useRef<HTMLElement>(null);
  useEffect(() => {
    // Showing it anew lifts the region over a dialog that was opened in the meantime.
    if (toasts.length === 0) return;
    region.current?.hidePopover();
    region.current?.showPopover();
  }, [toasts]);
  return createPortal(
    <section
      ref={region}
      popover="manual"
      aria-label={t("ui.notifications")}
      className={cn(
        "pointer-events-none fixed inset-auto right-5 m-0 grid w-[min(356px,calc(100vw-20px))] max-wide:right-2.5 gap-2.5 overflow-visible bg-transparent",
        place(host),
      )}
    >
      {/* A phone has room for one. */}
      <div role="status" aria-live="polite" className="contents max-wide:[&>*+*]:hidden">
        {/* The newest comes first: whatever their length, it is the one in sight. */}
        {toasts.toReversed().map((item) => (
          <ToastCard key={item.id} toast={item} />
        ))}
      </div>
    </section>,
    host,
  );
}

/**
 * At the very top, over heads alone: on phones, where something is open, and on screens without a head of their own. A dialog
 * has them beside it. Else they stand below the heads of page and chat, so that these can be used.
 */
function place(host: Element): string {
  if (host !== document.body) return "top-2.5 wide:right-auto wide:left-5";
  if (location.pathname !== "/" || document.querySelector("[popover=auto]:popover-open")) return "top-2.5";
  return location.search.includes("tab=") ? "top-2.5 wide:top-[68px]" : "top-2.5 wide:top-[124px]";
}

function ToastCard({ toast }: { toast: Toast }) {
  const [held, setHeld] = useState(false);
  useEffect(() => {
    if (held) return undefined;
    const lifetime = toast.action ? actionLifetimeMs : toastLifetimeMs;
    const timer = setTimeout(() => dismissToast(toast.id), lifetime);
    return () => clearTimeout(timer);
  }, [held, toast.action, toast.id]);
  const Icon = icons[toast.tone];
  return (
    <div
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
      className="pointer-events-auto grid animate-enter grid-cols-[auto_1fr_auto] gap-x-3 rounded-lg border border-line bg-surface py-[11px] pr-2 pl-4 text-md shadow-float"
    >
      <Icon aria-hidden="true" className={`mt-0.5 size-4 ${colours[toast.tone]}`} />
      <div className="min-w-0 self-center">
        <p className="font-semibold">{toast.title}</p>
        {toast.description !== undefined && (
          <p className="line-clamp-[10] wrap-anywhere text-ink-2 first-letter:uppercase">
            {toast.description}
          </p>
        )}
        {toast.detail !== undefined && (
          <p className="line-clamp-[10] wrap-anywhere text-ink-2">{toast.detail}</p>
        )}
        {toast.action && (
          <Button
            size="sm"
            className="mt-2"
            onClick={() => {
              dismissToast(toast.id);
              toast.action?.run();
            }}
          >
            {toast.action.label}
          </Button>
        )}
      </div>
      <IconButton
        label={t("ui.close")}
        icon={<X />}
        size="sm"
        className="-my-1"
        onClick={() => dismissToast(toast.id)}
      />
    </div>
  );
}
