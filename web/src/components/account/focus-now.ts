/** Focuses an element as soon as it is mounted, as its `ref`. */
export function focusNow(element: HTMLElement | null): void {
  element?.focus();
}
