import { Toast } from "@base-ui/react/toast";
import { Check, CircleAlert, Info, TriangleAlert, X } from "lucide-react";
import { type RefObject, useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from "react";
import { t } from "@/lib/t";
import type { Tone } from "./badge";
import { Button, IconButton } from "./button";
import { connectToasts, readToastHost, subscribeToastHost, type Toast as Content, toastId } from "./toast";
import { type Box, coveredArea, placeToasts } from "./toast-placement";

/** Lifetime of a toast that is not hovered. */
const LIFETIME_MS = 5_000;
/** Lifetime of a toast with an action. */
const ACTION_LIFETIME_MS = 10_000;
/** A further toast removes the oldest one. */
const MAX_VISIBLE_TOASTS = 3;

const icons: Record<Tone, typeof Check> = { ok: Check, err: CircleAlert, warn: TriangleAlert, neutral: Info };
const colours: Record<Tone, string> = {
  ok: "text-ok",
  err: "text-err",
  warn: "text-warn",
  neutral: "text-ink-2",
};

/** Renders the toasts and announces them to screen readers. */
export function Toaster() {
  const host = useSyncExternalStore(subscribeToastHost, readToastHost);
  // Closed toasts stay until their animations end; those of a user who signs out go with their provider, at once.
  const [clearCount, setClearCount] = useState(0);
  return (
    <Toast.Provider key={clearCount} timeout={LIFETIME_MS} limit={MAX_VISIBLE_TOASTS}>
      <Outlet onClear={() => setClearCount((count) => count + 1)} />
      <Toast.Portal container={host ?? undefined}>
        <Viewport host={host} />
      </Toast.Portal>
    </Toast.Provider>
  );
}

/**
 * Connects `toast()` to the rendered toasts. The same message is shown once at a time.
 *
 * It adds to the provider directly: an external manager drops toasts from before the provider has subscribed to it,
 * which happens after the effects in here.
 */
function Outlet({ onClear }: { onClear: () => void }) {
  const { add } = Toast.useToastManager<Content>();
  const latest = useRef({ add, onClear });
  useLayoutEffect(() => {
    latest.current = { add, onClear };
  });
  useEffect(
    () =>
      connectToasts({
        show: (data) => {
          latest.current.add({
            id: toastId(data),
            title: data.title,
            description: data.description,
            timeout: data.action ? ACTION_LIFETIME_MS : LIFETIME_MS,
            data,
          });
        },
        clear: () => latest.current.onClear(),
      }),
    [],
  );
  return null;
}

function Viewport({ host }: { host: HTMLElement | null }) {
  const { toasts, close } = Toast.useToastManager<Content>();
  const viewport = useRef<HTMLDivElement>(null);
  usePlacement(
    viewport,
    host,
    toasts
      .filter(({ limited }) => limited !== true)
      .map(({ id }) => id)
      .join("\n"),
  );
  return (
    <Toast.Viewport
      ref={viewport}
      data-toasts=""
      aria-label={t("ui.notifications")}
      className="pointer-events-none fixed z-30 grid w-[min(356px,calc(100vw-20px))] gap-2.5 outline-none"
    >
      {toasts.map((item) => (
        <Toast.Root
          key={item.id}
          toast={item}
          swipeDirection="right"
          // A phone has room for one.
          className="pointer-events-auto grid translate-x-(--toast-swipe-movement-x) animate-enter grid-cols-[auto_1fr_auto] gap-x-3 rounded-lg border border-line bg-surface py-[11px] pr-2 pl-4 text-md shadow-float data-limited:hidden max-wide:not-first-of-type:hidden"
        >
          {item.data && <Card content={item.data} onClose={() => close(item.id)} />}
        </Toast.Root>
      ))}
    </Toast.Viewport>
  );
}

function Card({ content, onClose }: { content: Content; onClose: () => void }) {
  const { title, description, detail, action, tone } = content;
  const Icon = icons[tone];
  return (
    <>
      <div className="col-span-2 grid grid-cols-subgrid self-center">
        <Icon aria-hidden="true" className={`mt-0.5 size-4 ${colours[tone]}`} />
        <div className="min-w-0">
          <Toast.Title render={<p />} className="font-semibold">
            {title}
          </Toast.Title>
          {description !== undefined && (
            <Toast.Description className="line-clamp-[10] wrap-anywhere text-ink-2">
              {description}
            </Toast.Description>
          )}
          {detail !== undefined && <p className="line-clamp-[10] wrap-anywhere text-ink-2">{detail}</p>}
          {action && (
            <Button
              size="sm"
              className="mt-2"
              onClick={() => {
                onClose();
                action.run();
              }}
            >
              {action.label}
            </Button>
          )}
        </div>
      </div>
      {/* Not Toast.Close, which assistive technology finds only while the pointer is over the toasts. */}
      <IconButton label={t("ui.close")} icon={<X />} size="sm" className="-my-1" onClick={onClose} />
    </>
  );
}

/** The control that was used last. */
let lastUsedControl: Element | null = null;
document.addEventListener("pointerdown", ({ target }) => rememberControl(target), {
  capture: true,
  passive: true,
});
document.addEventListener("focusin", ({ target }) => rememberControl(target), { passive: true });

function rememberControl(target: EventTarget | null): void {
  if (!(target instanceof Element) || target.closest("[data-toasts]")) return;
  lastUsedControl = target.closest("button, a, input, textarea, select, summary, [role]") ?? lastUsedControl;
}

/** Elements that toasts never cover, in addition to the control in use: headers, the composer, and a dialog's edges. */
const PROTECTED_ELEMENTS =
  "body:not(:has(dialog[open])) :is(header, [data-head], [data-composer]), dialog[open] :is(header, footer)";
/** Restricted to controls, because large elements such as menus and scroll areas can have the focus as well. */
const FOCUSED_CONTROL = ":is(button, a, input, textarea, select, summary):focus";
/** Elements that toasts avoid as long as there is room elsewhere: open ones, and messages, whose buttons are at an edge. */
const AVOIDED_ELEMENTS = "[data-open]:is([role=dialog], [role=menu], [role=listbox]), [data-message]";

/**
 * Moves the toasts so that they cover no element in use: whenever others are shown, and after input that may have
 * changed what is below them.
 */
function usePlacement(
  viewport: RefObject<HTMLElement | null>,
  host: HTMLElement | null,
  shown: string,
): void {
  useLayoutEffect(() => {
    if (shown === "") return undefined;
    const update = () => viewport.current && moveToasts(viewport.current, host);
    update();
    let frame = 0;
    const updateSoon = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => {
        if (viewport.current) moveToasts(viewport.current, host, true);
      });
    };
    addEventListener("resize", update);
    // A field that a press opens may take the focus later, once it is loaded.
    const inputs = ["click", "keyup", "focusin"];
    for (const input of inputs) addEventListener(input, updateSoon);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener("resize", update);
      for (const input of inputs) removeEventListener(input, updateSoon);
    };
  }, [viewport, host, shown]);
}

function moveToasts(toasts: HTMLElement, host: HTMLElement | null, mayStay = false): void {
  const boxesOf = (elements: readonly (Element | null)[]): Box[] =>
    elements
      .filter((one): one is Element => one !== null && !toasts.contains(one))
      .filter((one) => isVisible(one) && !one.matches(AVOIDED_ELEMENTS))
      .map(boxOf);
  const protectedBoxes = boxesOf([
    ...document.querySelectorAll(PROTECTED_ELEMENTS),
    document.querySelector(FOCUSED_CONTROL),
    lastUsedControl,
  ]);
  const avoided = [...document.querySelectorAll(AVOIDED_ELEMENTS)]
    .filter((one) => !toasts.contains(one))
    .map(boxOf);
  // On large screens there is room next to a sheet.
  const dialog = host && boxOf(host);
  if (dialog && Math.max(dialog.left, innerWidth - dialog.left - dialog.width) > toasts.offsetWidth)
    protectedBoxes.push(dialog);
  const size = { width: toasts.offsetWidth, height: toasts.offsetHeight };
  // Toasts being read stay in place as long as possible.
  if (mayStay && coveredArea([...protectedBoxes, ...avoided], toasts.getBoundingClientRect()) === 0) return;
  const safe = safeArea();
  const within = (box: Box): Box => ({ ...box, left: box.left - safe.left, top: box.top - safe.top });
  const { left, top } = placeToasts(size, safe, protectedBoxes.map(within), avoided.map(within));
  toasts.style.left = `${left + safe.left}px`;
  toasts.style.top = `${top + safe.top}px`;
}

/** Returns the part of the window that no notch and no bar of the system covers. */
function safeArea(): Box {
  const style = getComputedStyle(document.documentElement);
  const [top = 0, right = 0, bottom = 0, left = 0] = ["top", "right", "bottom", "left"].map(
    (side) => Number.parseFloat(style.getPropertyValue(`--safe-${side}`)) || 0,
  );
  return { left, top, width: innerWidth - left - right, height: innerHeight - top - bottom };
}

/** Returns where an element is; the properties of a `DOMRect` cannot be spread. */
function boxOf(element: Element): Box {
  const { left, top, width, height } = element.getBoundingClientRect();
  return { left, top, width, height };
}

function isVisible(element: Element): boolean {
  return element.isConnected && element.checkVisibility();
}
