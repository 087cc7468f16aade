import { formatDate } from "@/lib/intl";

const DAY_MS = 86_400_000;

/** Formats the time of day of an RFC 3339 time in the page's language and the user's time zone; empty for an invalid time. */
function timeOf(moment: string): string {
  const date = new Date(moment);
  return Number.isNaN(date.getTime()) ? "" : formatDate(date, { timeStyle: "short" });
}

/** Formats a time as short as possible: today the time of day, within a week the weekday, else the date. */
export function dayOf(moment: string, now = new Date()): string {
  const date = new Date(moment);
  if (Number.isNaN(date.getTime())) return "";
  if (date.toDateString() === now.toDateString()) return formatDate(date, { timeStyle: "short" });
  const isRecent = now.getTime() - date.getTime() < 6 * DAY_MS;
  return formatDate(date, isRecent ? { weekday: "short" } : { day: "numeric", month: "short" });
}

export function TimeOfDay({ moment }: { moment: string }) {
  return (
    <time dateTime={moment} className="text-xs text-ink-3 tabular-nums">
      {timeOf(moment)}
    </time>
  );
}
