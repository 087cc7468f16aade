import { type PointerEvent, type RefObject, useRef } from "react";

/** Distance after which a released panel closes. */
const CLOSING_DISTANCE_PX = 96;
/** Speed above which a released panel closes after any distance, in pixels per millisecond. */
const CLOSING_SPEED = 0.6;
/** Distance of a flick: less may be a finger that trembles. */
const MIN_FLICK_PX = 16;

/** Drag of a panel that is going on. */
interface Drag {
  pointerId: number;
  startY: number;
  startedAt: number;
}

/** Classes of a header that drags a panel of a narrow window down: a grip at its top. */
export const gripClass =
  "max-wide:touch-none max-wide:before:absolute max-wide:before:top-2 max-wide:before:left-1/2 max-wide:before:h-1 max-wide:before:w-9 max-wide:before:-translate-x-1/2 max-wide:before:rounded-full max-wide:before:bg-line-strong";

/**
 * Returns the handlers of a panel's header that drag the panel down. Released far or fast enough the panel closes, else
 * it returns. Only a panel at the bottom edge moves.
 */
export function useDragToClose(panel: RefObject<HTMLElement | null>, close: () => void) {
  const drag = useRef<Drag | null>(null);
  const move = (offset: number) => moveDown(panel.current, offset);
  return {
    onPointerDown(event: PointerEvent<HTMLElement>) {
      if (!event.isPrimary || event.button !== 0 || !isAtBottom(panel.current)) return;
      if (event.target instanceof Element && event.target.closest("button, a, input") !== null) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      drag.current = { pointerId: event.pointerId, startY: event.clientY, startedAt: event.timeStamp };
    },
    onPointerMove(event: PointerEvent) {
      if (drag.current?.pointerId === event.pointerId) move(event.clientY - drag.current.startY);
    },
    onPointerUp(event: PointerEvent) {
      if (drag.current?.pointerId !== event.pointerId) return;
      const distance = event.clientY - drag.current.startY;
      const speed = distance / Math.max(1, event.timeStamp - drag.current.startedAt);
      drag.current = null;
      if (distance >= CLOSING_DISTANCE_PX || (distance >= MIN_FLICK_PX && speed >= CLOSING_SPEED)) close();
      else move(0);
    },
    onPointerCancel(event: PointerEvent) {
      if (drag.current?.pointerId !== event.pointerId) return;
      drag.current = null;
      move(0);
    },
  };
}

function moveDown(panel: HTMLElement | null, offset: number): void {
  if (panel) panel.style.translate = offset > 0 ? `0 ${offset}px` : "";
}

/** Returns true if the panel covers the window's whole width, as it does on phones. */
function isAtBottom(panel: HTMLElement | null): boolean {
  return panel !== null && panel.offsetWidth >= document.documentElement.clientWidth;
}
