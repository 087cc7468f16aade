/** A ref that gives the focus to its element as soon as it is there. */
export function focusNow(element: HTMLElement | null): void {
  element?.focus();
}
