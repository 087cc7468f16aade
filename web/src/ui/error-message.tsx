import { cn } from "@/lib/cn";
import { errorText } from "@/lib/error-text";

interface ErrorMessageProps {
  error: Error | null;
  className?: string;
}

/** Announced error below what failed; nothing without an error. */
export function ErrorMessage({ error, className }: ErrorMessageProps) {
  if (error === null) return null;
  return (
    <p role="alert" className={cn("text-sm wrap-anywhere text-err", className)}>
      {errorText(error)}
    </p>
  );
}
