import type { KeyboardEvent, ReactNode } from "react";

/** List of actions in a popover. The arrow keys move the focus between them. */
export function ActionList({ children }: { children: ReactNode }) {
  return <ul onKeyDown={moveFocus}>{children}</ul>;
}

interface ActionItemProps {
  icon: ReactNode;
  label: string;
  onClick: () => void;
}

export function ActionItem({ icon, label, onClick }: ActionItemProps) {
  return (
    <li>
      <button
        type="button"
        onClick={onClick}
        className="flex min-h-9 w-full items-center gap-2.5 rounded-md px-2.5 text-left text-md outline-none hover:bg-sunken focus-visible:bg-sunken touch:min-h-11 [&_svg]:size-4 [&_svg]:shrink-0 [&_svg]:text-ink-2"
      >
        {icon}
        {label}
      </button>
    </li>
  );
}

function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const stops = [...event.currentTarget.querySelectorAll("button")];
  const at = stops.indexOf(document.activeElement as HTMLButtonElement);
  event.preventDefault();
  stops.at((at + (event.key === "ArrowDown" ? 1 : -1)) % stops.length)?.focus();
}
