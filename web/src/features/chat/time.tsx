import { formatDate, formatRelativeDay } from "@/lib/intl";

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

function isToday(date: Date): boolean {
  return date.toDateString() === new Date().toDateString();
}

/** Time of day, with the full date as its tooltip, and for screen readers if it was another day. */
export function TimeOfDay({ moment }: { moment: string }) {
  const date = new Date(moment);
  const isValid = !Number.isNaN(date.getTime());
  const full = isValid ? formatDate(date, { dateStyle: "full", timeStyle: "short" }) : undefined;
  const time = timeOf(moment);
  return (
    <time dateTime={moment} title={full} className="text-xs text-ink-3 tabular-nums">
      {isToday(date) ? (
        time
      ) : (
        <>
          <span aria-hidden="true">{time}</span>
          <span className="sr-only">{full}</span>
        </>
      )}
    </time>
  );
}

/** Names a day: “Today”, “Yesterday”, or the weekday with the date. */
export function dayName(date: Date, now = new Date()): string {
  const midnight = (day: Date) => new Date(day.getFullYear(), day.getMonth(), day.getDate()).getTime();
  const days = Math.round((midnight(date) - midnight(now)) / DAY_MS);
  if (days === 0 || days === -1) {
    const [first = "", ...rest] = formatRelativeDay(days);
    return first.toUpperCase() + rest.join("");
  }
  const isThisYear = date.getFullYear() === now.getFullYear();
  return formatDate(date, {
    weekday: "long",
    day: "numeric",
    month: "long",
    ...(!isThisYear && { year: "numeric" }),
  });
}

interface DaySeparatorProps {
  /** Time of the message above; null for the first one of a chat, undefined if it is not loaded. */
  before: string | null | undefined;
  /** Time of the message below. */
  moment: string | undefined;
}

/** Line between messages of different days that names the later one, and above a chat that did not begin today. */
export function DaySeparator({ before, moment }: DaySeparatorProps) {
  if (before === undefined || moment === undefined) return null;
  const date = new Date(moment);
  const isSameDay = before === null ? isToday(date) : new Date(before).toDateString() === date.toDateString();
  if (isSameDay || Number.isNaN(date.getTime()) || Number.isNaN(Date.parse(before ?? moment))) return null;
  return (
    <p className="mb-(--message-gap) flex items-center gap-3 text-xs text-ink-3">
      <span aria-hidden="true" className="h-px flex-1 bg-line" />
      <time dateTime={moment}>{dayName(date)}</time>
      <span aria-hidden="true" className="h-px flex-1 bg-line" />
    </p>
  );
}
