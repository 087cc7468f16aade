import type { ReactNode } from "react";
import { cn } from "@/lib/cn";

/** Meaning of a color; it is never expressed by the color alone. */
export type Tone = "neutral" | "ok" | "warn" | "err";

const soft: Record<Tone, string> = {
  neutral: "bg-sunken text-ink-2",
  ok: "bg-ok-soft text-ok",
  warn: "bg-warn-soft text-warn",
  err: "bg-err-soft text-err",
};

const dots: Record<Tone, string> = {
  neutral: "bg-off-dot",
  ok: "bg-ok",
  warn: "bg-warn-dot",
  err: "bg-err",
};

interface BadgeProps {
  tone?: Tone;
  className?: string;
  children: ReactNode;
}

export function Badge({ tone = "neutral", className, children }: BadgeProps) {
  return (
    <span
      className={cn(
        "inline-flex h-[22px] shrink-0 items-center gap-1.5 rounded-full px-2 text-xs leading-none font-medium whitespace-nowrap tabular-nums",
        soft[tone],
        className,
      )}
    >
      {children}
    </span>
  );
}

/** Status dot. It is decoration: put the word next to it. */
export function Dot({ tone = "neutral" }: { tone?: Tone }) {
  return (
    <span
      aria-hidden="true"
      data-tone={tone}
      className={cn("size-[9px] shrink-0 rounded-full", dots[tone])}
    />
  );
}
