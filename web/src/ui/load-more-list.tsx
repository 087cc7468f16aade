import { type ReactNode, useRef, useState } from "react";
import { Button } from "./button";

/** A few screens of items, which render without delay. */
const ITEMS_PER_PAGE = 100;

interface LoadMoreListProps<Item> {
  items: readonly Item[];
  /** Label of the button that shows the next `next` items. */
  label: (next: number) => string;
  children: (shown: readonly Item[]) => ReactNode;
}

/** Long list: its first items, and a button for the next ones. */
export function LoadMoreList<Item>({ items, label, children }: LoadMoreListProps<Item>) {
  const [pages, setPages] = useState(1);
  const list = useRef<HTMLDivElement>(null);
  const shown = items.slice(0, pages * ITEMS_PER_PAGE);
  const next = Math.min(ITEMS_PER_PAGE, items.length - shown.length);
  function showNext(): void {
    setPages(pages + 1);
    // The button disappears after the last items; keyboard users continue from the list.
    if (next < ITEMS_PER_PAGE) list.current?.focus();
  }
  return (
    <div ref={list} tabIndex={-1} className="outline-none">
      {children(shown)}
      {next > 0 && (
        <p className="py-4 text-center">
          <Button onClick={showNext}>{label(next)}</Button>
        </p>
      )}
    </div>
  );
}
