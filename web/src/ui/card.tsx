import type { ComponentProps, ReactNode } from "react";
import { cn } from "@/lib/cn";

export function Card({ className, ...rest }: ComponentProps<"section">) {
  return <section className={cn("rounded-xl border border-line bg-surface", className)} {...rest} />;
}

interface CardHeadProps {
  id?: string;
  title: string;
  children?: ReactNode;
}

/** Title row of a card, with the children next to the title. */
export function CardHead({ id, title, children }: CardHeadProps) {
  return (
    <div className="flex min-h-7 items-baseline gap-2.5 px-5 pt-[18px]">
      <h2 id={id} tabIndex={-1} className="rounded-sm">
        {title}
      </h2>
      {children}
    </div>
  );
}
