import type { ComponentProps, ReactNode } from "react";
import { cn } from "@/lib/cn";
import { Spinner } from "./spinner";

type Variant = "primary" | "line" | "quiet" | "danger";
type Size = "md" | "sm";

interface Look {
  variant?: Variant;
  size?: Size;
}

const base =
  "inline-flex select-none items-center justify-center gap-2 whitespace-nowrap border font-medium leading-none " +
  "transition-colors duration-150 disabled:opacity-45 aria-disabled:opacity-45 [&_svg]:size-4 [&_svg]:shrink-0";

const variants: Record<Variant, string> = {
  primary: "border-transparent bg-ink text-paper enabled:hover:bg-ink/88",
  line: "border-line-strong bg-surface text-ink enabled:hover:bg-sunken",
  quiet: "border-transparent text-ink-2 enabled:hover:bg-sunken enabled:hover:text-ink",
  danger: "border-transparent text-err enabled:hover:bg-err-soft",
};

const sizes: Record<Size, string> = {
  md: "h-9 rounded-md px-3.5 text-md touch:h-11",
  sm: "h-[30px] rounded-[8px] px-[11px] text-sm touch:h-11",
};

/** Returns the classes of a button, for links that look like one. */
export function buttonClass({ variant = "line", size = "md" }: Look = {}): string {
  return cn(base, variants[variant], sizes[size]);
}

/** Returns the classes of an icon button. */
export function iconButtonClass({ variant = "quiet", size = "md" }: Look = {}): string {
  const square =
    size === "md" ? "size-9 rounded-md touch:size-11" : "size-[30px] rounded-[8px] touch:size-11";
  return cn(base, variants[variant], "shrink-0", square);
}

interface ButtonProps extends ComponentProps<"button">, Look {
  /** Shows a spinner before the label. Disabling is the caller's decision. */
  busy?: boolean;
}

export function Button({ variant, size, busy = false, className, children, ...rest }: ButtonProps) {
  const look = { ...(variant && { variant }), ...(size && { size }) };
  return (
    <button
      type="button"
      aria-busy={busy || undefined}
      className={cn(buttonClass(look), className)}
      {...rest}
    >
      {busy && <Spinner />}
      {children}
    </button>
  );
}

interface IconButtonProps extends Omit<ComponentProps<"button">, "aria-label" | "children">, Look {
  /** Label for screen readers. */
  label: string;
  icon: ReactNode;
}

export function IconButton({
  label,
  icon,
  variant = "quiet",
  size = "md",
  className,
  ...rest
}: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={cn(iconButtonClass({ variant, size }), className)}
      {...rest}
    >
      {icon}
    </button>
  );
}
