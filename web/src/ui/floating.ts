import type { RefObject } from "react";

/** Classes of floating surfaces. */
export const floatingClass =
  "animate-enter overflow-auto overscroll-contain rounded-lg border border-line bg-surface p-1.5 text-ink shadow-float outline-none";

/** Placement of floating elements: next to their anchor, with a minimum distance to the window's edge. */
export const floatingPlace = { sideOffset: 6, collisionPadding: 10, className: "z-20" };

/** Returns the dialog around an element: a modal dialog covers whatever is rendered outside of it. */
export function dialogAround(anchor: RefObject<HTMLElement | null>): HTMLElement | undefined {
  return anchor.current?.closest("dialog") ?? undefined;
}

interface ChangeDetails {
  reason: string;
  event: Event;
  cancel: () => void;
}

/**
 * Keeps a popup whose trigger is not Base UI's from being closed by a press on that trigger, which toggles it anyway, and
 * keeps Escape, which closes the popup, from closing the dialog around it as well.
 */
export function settleChange(anchor: RefObject<HTMLElement | null>, details: ChangeDetails): boolean {
  const { reason, event } = details;
  if (reason === "escape-key") event.preventDefault();
  const isOnTrigger = event.target instanceof Node && anchor.current?.contains(event.target) === true;
  if (!isOnTrigger || (reason !== "outside-press" && reason !== "focus-out")) return true;
  details.cancel();
  return false;
}
