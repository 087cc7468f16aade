import type { KeyboardEvent, ReactNode } from "react";
import { cn } from "@/lib/cn";

interface TabItem<Value extends string> {
  value: Value;
  label: ReactNode;
}

interface TabListProps<Value extends string> {
  /** Label for screen readers, and prefix of the ids of tabs and panels. */
  id: string;
  label: string;
  items: readonly TabItem<Value>[];
  selected: Value;
  onSelect: (value: Value) => void;
  /** Lets the tabs share the whole width. */
  fill?: boolean;
  className?: string;
}

/**
 * Tab list of the WAI-ARIA pattern: one tab stop, arrow keys move and select. The panels are the caller's, with the
 * attributes of {@link panelProps}.
 */
export function TabList<Value extends string>({
  id,
  label,
  items,
  selected,
  onSelect,
  fill = false,
  className,
}: TabListProps<Value>) {
  function onKeyDown(event: KeyboardEvent) {
    const at = items.findIndex((item) => item.value === selected);
    const next = items[targetIndex(event.key, at, items.length)];
    if (next === undefined) return;
    event.preventDefault();
    onSelect(next.value);
    document.getElementById(tabId(id, next.value))?.focus();
  }
  return (
    <div
      role="tablist"
      aria-label={label}
      className={cn(fill ? "flex" : "inline-flex", "gap-0.5 rounded-[12px] bg-sunken p-[3px]", className)}
    >
      {items.map((item) => (
        <button
          key={item.value}
          type="button"
          role="tab"
          id={tabId(id, item.value)}
          aria-selected={item.value === selected}
          // Only the selected panel is sure to exist.
          aria-controls={item.value === selected ? panelId(id, item.value) : undefined}
          tabIndex={item.value === selected ? 0 : -1}
          onClick={() => onSelect(item.value)}
          onKeyDown={onKeyDown}
          className={cn(
            "inline-flex h-8 flex-1 items-center justify-center gap-2 rounded-[9px] px-3.5 text-md font-medium whitespace-nowrap touch:h-11 max-wide:px-1.5",
            "text-ink-2 transition-colors duration-150 hover:text-ink aria-selected:bg-surface aria-selected:text-ink aria-selected:shadow-raised",
          )}
        >
          {item.label}
        </button>
      ))}
    </div>
  );
}

/** Returns the attributes of the panel for a tab of the list with the same `id`. */
export function panelProps(id: string, value: string) {
  return { role: "tabpanel", id: panelId(id, value), "aria-labelledby": tabId(id, value) } as const;
}

function tabId(id: string, value: string): string {
  return `${id}-tab-${value}`;
}

function panelId(id: string, value: string): string {
  return `${id}-panel-${value}`;
}

function targetIndex(key: string, at: number, count: number): number {
  if (key === "ArrowRight") return (at + 1) % count;
  if (key === "ArrowLeft") return (at - 1 + count) % count;
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  return -1;
}
