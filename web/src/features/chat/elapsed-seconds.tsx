import { formatSeconds } from "@/lib/format";
import { useNow } from "@/lib/use-now";

/** Short waits need no number. */
const MIN_SHOWN_SECONDS = 3;

/** Whole seconds since `since` (milliseconds since 1970). Screen readers skip them: they change all the time. */
export function ElapsedSeconds({ since }: { since: number }) {
  const now = useNow(1_000, () => since);
  const seconds = Math.floor((now - since) / 1_000);
  if (seconds < MIN_SHOWN_SECONDS) return null;
  return (
    <span aria-hidden="true" className="text-sm text-ink-3 tabular-nums">
      {formatSeconds(seconds)}
    </span>
  );
}
