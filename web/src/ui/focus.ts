import { type RefObject, useLayoutEffect, useRef } from "react";

/** Focuses an element as soon as it is mounted, as its `ref`. */
export function focusNow(element: HTMLElement | null): void {
  element?.focus();
}

/**
 * Returns the `ref` of an element whose controls disappear with it, for example after an answer. If one of them has the
 * focus then, it goes to the element that `findNext` returned when the element was mounted, so that keyboard users keep
 * their position. After a click with the mouse it goes to the message field, if there is one in the same dialog or tab.
 */
export function useFocusHandover<Own extends HTMLElement>(
  findNext: (own: HTMLElement) => HTMLElement | null | undefined = firstButtonAround,
): RefObject<Own | null> {
  const panel = useRef<Own>(null);
  useLayoutEffect(() => {
    const own = panel.current;
    const next = own && findNext(own);
    return () => {
      const focused = document.activeElement;
      if (!own || !focused || !own.contains(focused)) return;
      // On a touch screen the keyboard would hide what comes next.
      const isMouse = !focused.matches(":focus-visible") && matchMedia("(pointer: fine)").matches;
      const around = own.closest("dialog, [role=tabpanel]");
      const field = isMouse && around?.querySelector<HTMLElement>("[data-composer] textarea");
      (field || next)?.focus();
    };
  }, [findNext]);
  return panel;
}

function firstButtonAround(own: HTMLElement): HTMLElement | null | undefined {
  return own.parentElement?.querySelector("button");
}
