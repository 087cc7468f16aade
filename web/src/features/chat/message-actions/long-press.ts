/** Time after which a press is long: before the browsers' own 500 ms, at which they would select a word. */
const LONG_PRESS_MS = 420;
/** A finger that moves further scrolls. */
const MAX_MOVE_PX = 10;
/** Elements that have a use for a press of their own. */
const CONTROLS = "a, button, input, textarea, select, summary, iframe, [contenteditable], [tabindex]";

/** Press of a finger on a message. */
interface Press {
  message: HTMLElement;
  pointerId: number;
  x: number;
  y: number;
  timer: ReturnType<typeof setTimeout>;
}

/**
 * Reports the message that a finger presses for long, except on controls and while text is selected, whose ends a long
 * press moves. The mouse has its own ways. Returns the function that ends the watch.
 */
export function watchLongPress(rows: HTMLElement, onLongPress: (message: HTMLElement) => void): () => void {
  const watch = new AbortController();
  const { signal } = watch;
  let press: Press | null = null;

  function end(): void {
    if (press === null) return;
    clearTimeout(press.timer);
    press.message.style.userSelect = "";
    press.message.style.webkitUserSelect = "";
    press = null;
  }

  function start(event: PointerEvent): void {
    end();
    if (event.pointerType !== "touch" || !event.isPrimary || !(event.target instanceof Element)) return;
    const message = event.target.closest<HTMLElement>("article[data-message]");
    const control = event.target.closest(CONTROLS);
    if (message === null || (control !== null && message.contains(control))) return;
    if (getSelection()?.isCollapsed === false || message.querySelector("form, textarea") !== null) return;
    // Without it the browser would select the word below the finger once the sheet is open.
    message.style.userSelect = "none";
    message.style.webkitUserSelect = "none";
    press = {
      message,
      pointerId: event.pointerId,
      x: event.clientX,
      y: event.clientY,
      timer: setTimeout(() => {
        // The browser makes a click of the finger's end, which would close the sheet that is now below it.
        document.addEventListener("touchend", (touch) => touch.preventDefault(), {
          once: true,
          passive: false,
          signal,
        });
        onLongPress(message);
      }, LONG_PRESS_MS),
    };
  }

  function move(event: PointerEvent): void {
    if (press?.pointerId !== event.pointerId) return;
    if (Math.hypot(event.clientX - press.x, event.clientY - press.y) > MAX_MOVE_PX) end();
  }

  rows.addEventListener("pointerdown", start, { signal });
  document.addEventListener("pointermove", move, { signal, passive: true });
  document.addEventListener("pointerup", end, { signal });
  document.addEventListener("pointercancel", end, { signal });
  rows.addEventListener(
    "contextmenu",
    (event) => {
      if (press !== null) event.preventDefault();
    },
    { signal },
  );
  signal.addEventListener("abort", end);
  return () => watch.abort();
}
