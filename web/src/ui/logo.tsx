import { cn } from "@/lib/cn";

/** Logo of the product. */
export function Logo({ className }: { className?: string }) {
  return (
    <span
      aria-hidden="true"
      className={cn("grid size-[34px] shrink-0 place-items-center rounded-md bg-ink text-paper", className)}
    >
      <svg viewBox="0 0 16 16" className="size-[58%]" fill="none" stroke="currentColor" strokeWidth="1.8">
        <path d="M2.500 9.500L6 4.500l3.500 7 4-6.500" strokeLinecap="round" strokeLinejoin="round" />
      </svg>
    </span>
  );
}
